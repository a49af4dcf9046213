"""The start of `lingape`, and of `python -m lingape`."""

import sys


def main() -> None:
    """Run the command line; Ctrl-C while its modules are being loaded ends it with a word."""
    try:
        from .cli import main

        main()
    except KeyboardInterrupt:
        sys.stderr.write("\nStopped.\n")
        sys.exit(130)


if __name__ == "__main__":
    main()
