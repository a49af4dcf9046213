"""The figures that plots return: matplotlib's, and notebooks show them."""

import io

import matplotlib.figure


class Figure(matplotlib.figure.Figure):
    """A figure that a notebook shows as a cell's last line, without pyplot or %matplotlib."""

    def _repr_png_(self) -> bytes:
        file = io.BytesIO()
        self.savefig(file, format="png")
        return file.getvalue()
