"""Writes figures as SVG for pages and as PNG for notebooks; the same picture gives the same
bytes."""

from __future__ import annotations

import hashlib
import io
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from html import escape
from threading import Lock
from typing import TYPE_CHECKING

from markupsafe import Markup

from grader.figures.base import figure_types
from grader.figures.style import RC
from grader.model.figure import DrawnFigure

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

PNG_SCALE = 2
"""Pixels of a PNG per CSS pixel."""
_CSS_DPI = 96
_LOCK = Lock()  # matplotlib keeps its settings in a global variable

_GROUP_ID = re.compile(r'<g id="[^"]*"')
_COMMENT = re.compile(r"<!--.*?-->\s*", re.S)
_STYLE = re.compile(r'<defs>\s*<style type="text/css">.*?</style>\s*</defs>', re.S)
_IDS = (' id="', 'href="#', "url(#")
"""What comes before an id."""
_ROOT = re.compile(r"<svg [^>]*>")
_LONG = re.compile(r"([1-9]\d*\.\d{2})\d+")  # not the scale of glyphs, which is below 1
_BODY = re.compile(r"<body[^>]*>")
_HIDDEN = '<svg style="position: absolute" width="0" height="0" aria-hidden="true">'
_DRAWN = re.compile(r'<g id="(figure-[0-9a-f]{12})">.*?</g></svg>', re.S)
_SPACE = re.compile(r"\n\s*")


@lru_cache(maxsize=256)
def figure_svg(figure: DrawnFigure) -> Markup:
    """Returns the figure as an SVG element for a page, with its text alternative.

    Its ids begin with a hash of its contents, so that several figures can be on one page.
    """
    kind = figure_types.find(figure.type)
    width, height = kind.sides[0], kind.height(figure.picture)
    with _canvas(figure) as canvas:
        text = io.StringIO()
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        canvas.savefig(text, format="svg", metadata=nothing)
    written = text.getvalue()
    root = _ROOT.search(written)
    assert root is not None  # noqa: S101 - matplotlib writes one
    body = written[root.end() :].rsplit("</svg>", 1)[0]
    body = _GROUP_ID.sub("<g", _STYLE.sub("", _COMMENT.sub("", body)))
    body = _SPACE.sub(" ", _LONG.sub(r"\1", body)).replace("> <", "><").strip()
    mark = hashlib.sha256(f"{figure.type} {figure.picture!r}".encode()).hexdigest()
    for before in _IDS:
        body = body.replace(before, f"{before}f{mark[:6]}-")
    label, box = escape(figure.alt, quote=True), f"{width * 0.75:g} {height * 0.75:g}"
    return Markup(  # noqa: S704 - the label is escaped, and its only other text is paths
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'class="figure" width="{width}" height="{height}" viewBox="0 0 {box}" '
        f'stroke-linejoin="round" role="img" aria-label="{label}"><title>{label}</title>'
        f'<g id="figure-{mark[:12]}">{body}</g></svg>'
    )


def draw_once(page: str) -> str:
    """Returns the HTML *page* with equal figures drawn once, at its beginning, and referred to.

    Browsers do not fill shapes with patterns of an element that is not displayed, such as a folded
    section, so no figure refers to another one.
    """
    often = Counter(found[1] for found in _DRAWN.finditer(page))
    drawn: dict[str, str] = {}

    def shorten(match: re.Match[str]) -> str:
        """Returns a reference to a figure that occurs several times, which is drawn once."""
        if often[match[1]] == 1:
            return match[0]
        drawn[match[1]] = match[0].removesuffix("</svg>")
        return f'<use href="#{match[1]}"/></svg>'

    page = _DRAWN.sub(shorten, page)
    if not drawn:
        return page
    shared = f"{_HIDDEN}<defs>{''.join(drawn.values())}</defs></svg>"
    return _BODY.sub(lambda found: found[0] + shared, page, count=1)


@lru_cache(maxsize=64)
def figure_png(figure: DrawnFigure) -> bytes:
    """Returns the figure as a PNG with twice as many pixels as its size on a page."""
    with _canvas(figure) as canvas:
        data = io.BytesIO()
        canvas.savefig(data, format="png", dpi=_CSS_DPI * PNG_SCALE, metadata={"Software": None})
    return data.getvalue()


@lru_cache(maxsize=256)
def painted_texts(figure: DrawnFigure) -> frozenset[str]:
    """Returns the labels of the figure, apart from those of ticks."""
    from matplotlib.text import Text

    with _canvas(figure) as canvas:
        texts = frozenset(one.get_text() for one in canvas.findobj(Text))
    return texts - {""}


@contextmanager
def _canvas(figure: DrawnFigure) -> Iterator[Canvas]:
    """Yields a canvas with the figure, while the style is in force."""
    import matplotlib as mpl
    from matplotlib.figure import Figure as Canvas

    kind = figure_types.find(figure.type)
    inches = (kind.sides[0] / _CSS_DPI, kind.height(figure.picture) / _CSS_DPI)
    with _LOCK, mpl.rc_context():
        mpl.rcdefaults()  # whatever the person's own settings are
        mpl.rcParams.update(RC)
        canvas = Canvas(figsize=inches)
        kind.paint(figure.picture, canvas)
        yield canvas
