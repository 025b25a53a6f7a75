"""`python -m ddinspect`."""

from ddinspect.cli.main import main

if __name__ == "__main__":
    main()
