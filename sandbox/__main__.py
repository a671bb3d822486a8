"""`python -m sandbox` is the `sandbox` command."""

import gc

# There is no garbage while modules are loaded; the command enables this again.
gc.disable()

from sandbox.cli.main import main  # noqa: E402

if __name__ == "__main__":
    main()
