"""The command line: one file for each command, which reads its options and asks other rooms."""
