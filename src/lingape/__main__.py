"""The start of `lingape`, and of `python -m lingape`."""

import sys
from io import TextIOWrapper


def main() -> None:
    """Run the command line; Ctrl-C while its modules are being loaded ends it with a word."""
    if sys.platform == "win32":
        for stream in (sys.stdout, sys.stderr):
            # A file or pipe would get a code page that lacks ε and θ.
            if isinstance(stream, TextIOWrapper):
                stream.reconfigure(encoding="utf-8", errors="backslashreplace", newline="\n")
    try:
        from .cli import main

        main()
    except KeyboardInterrupt:
        sys.stderr.write("\nStopped.\n")
        sys.exit(130)


if __name__ == "__main__":
    main()
