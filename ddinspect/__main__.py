"""The command, also as `python -m ddinspect`."""

from __future__ import annotations

import sys


def main() -> None:
    """Entry point of the command: interrupted at any time, it ends with 130 and without a traceback."""
    try:
        from ddinspect.cli.main import main as command

        command()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
