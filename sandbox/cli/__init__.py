"""The command's groups: each subcommand reads its options, and leaves the work to others."""
