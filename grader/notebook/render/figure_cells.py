"""The cells of figures in a notebook: Markdown images that contain their PNG."""

from __future__ import annotations

import base64
import re

from grader.figures import figure_png
from grader.model.figure import DrawnFigure
from grader.notebook.cells import Cell

# Colab shows images in data URIs but no attachments, and VS Code no SVG in a data URI; both, and
# JupyterLab, show a PNG in a data URI.
_URI = "data:image/png;base64,"
_MARKUP = re.compile(r"([\\`*_\[\]<>$])")
_IMAGE = re.compile(r"!\[((?:\\.|[^\]\\])*)\]\(" + re.escape(_URI) + r"[A-Za-z0-9+/=]*\)")


def figure_cell(number: int, figure: DrawnFigure) -> Cell:
    """Returns the cell of a figure of question *number*."""
    name = f"q{number}-figure-{figure.id}"[:64].replace("_", "-")
    return Cell(type="markdown", id=name, source=figure_markdown(figure))


def figure_markdown(figure: DrawnFigure) -> str:
    """Returns the figure as a Markdown image with its text alternative."""
    data = base64.b64encode(figure_png(figure)).decode()
    alt = _MARKUP.sub(r"\\\1", figure.alt)
    return f"![{alt}]({_URI}{data})"


def describe_figures(source: str) -> str:
    """Returns the source of a cell with figures replaced by their alternative text.

    For terminals, and for systems that can't show the images.
    """
    return _IMAGE.sub(lambda found: f"*Figure: {found[1]}*", source)
