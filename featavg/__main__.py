"""The command `featavg`, also as `python -m featavg`: Ctrl-C is one word while it is still being imported."""

import sys


def main() -> None:
    """Import the command line and run it."""
    try:
        from featavg.cli import main as command

        command()
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        sys.exit(130)  # as in featavg.cli, which may not be there yet


if __name__ == "__main__":
    main()
