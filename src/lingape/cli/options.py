"""What several commands share."""

import click

as_json = click.option("--json", is_flag=True, help="Print the results as JSON.")


def numbers(text: str, option: str) -> list[float]:
    """Return the numbers in a text that separates them by commas."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise click.BadParameter(
            f"must be numbers separated by commas; got {text!r}.", param_hint=option
        ) from None
