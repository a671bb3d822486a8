"""`python -m sandbox` is the `sandbox` command."""

from sandbox.cli.main import main

if __name__ == "__main__":
    main()
