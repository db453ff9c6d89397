"""Converts LaTeX formulas to MathML for a page, or to code if that is not possible."""

from __future__ import annotations

import re
from functools import lru_cache
from html import escape, unescape
from xml.etree.ElementTree import Element

# Allowed in a page. Everything else, such as links and styles, is removed.
_TAGS = frozenset(
    re.findall(
        r"\w+",
        "math mrow mi mn mo mtext mspace mfrac msqrt mroot msub msup msubsup munder mover"
        " munderover mtable mtr mtd mstyle mpadded mphantom menclose",
    )
)
_ATTRIBUTES = frozenset(
    re.findall(
        r"\w+",
        "xmlns display displaystyle scriptlevel mathvariant stretchy fence form separator largeop"
        " movablelimits symmetric lspace rspace minsize maxsize accent accentunder linethickness"
        " width height depth columnalign columnlines rowlines columnspacing rowspacing notation",
    )
)
_CHILDREN = {"mfrac": 2, "mroot": 2, "msub": 2, "msup": 2, "munder": 2, "mover": 2}
_CHILDREN |= {"msubsup": 3, "munderover": 3}

_LONGEST = 1000
_DEEPEST = 40
# Definitions can grow exponentially when they are used.
_REFUSED = re.compile(r"\\(newcommand|renewcommand|providecommand|def|let|href|require|style)\b")


@lru_cache(maxsize=4096)
def formula_html(latex: str, *, block: bool = False) -> str:
    """Returns safe HTML for *latex*: MathML, or its source as code if it can't be converted."""
    try:
        return _convert_formula(latex, block=block)
    # The converter raises many types of errors for broken formulas, including IndexError.
    except Exception:  # noqa: BLE001
        return f'<code class="latex">{escape(latex)}</code>'


def _convert_formula(latex: str, *, block: bool) -> str:
    """Returns MathML. Raises an error if *latex* is too complex or can't be converted."""
    from latex2mathml.converter import convert_to_element

    if len(latex) > _LONGEST or _brace_depth(latex) > _DEEPEST or _REFUSED.search(latex):
        raise ValueError(latex)
    return _element_html(convert_to_element(latex, display="block" if block else "inline"))


def _brace_depth(latex: str) -> int:
    deepest = depth = 0
    for character in latex:
        depth += (character == "{") - (character == "}")
        deepest = max(deepest, depth)
    return deepest


def _element_html(element: Element) -> str:
    """Returns *element* as HTML, with all text escaped. Raises ValueError for unsafe elements."""
    # Not the converter's serializer, which does not escape: \text{<script>} would become a script.
    if element.tag not in _TAGS or len(element) < _CHILDREN.get(element.tag, 0):
        raise ValueError(element.tag)
    attributes = "".join(
        f' {name}="{escape(value)}"' for name, value in element.items() if name in _ATTRIBUTES
    )
    text = unescape(element.text or "")
    if element.tag == "mtext":
        text = re.sub(r"\\([%&#_$])", r"\1", text)  # the converter leaves these escapes
    if text.startswith("\\") and len(text) > 1:
        raise ValueError(text)
    inside = escape(text) + "".join(
        _element_html(child) + escape(unescape(child.tail or "")) for child in element
    )
    return f"<{element.tag}{attributes}>{inside}</{element.tag}>"
