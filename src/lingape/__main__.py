"""Let `python -m lingape` do what `lingape` does."""

from .cli import main

main()
