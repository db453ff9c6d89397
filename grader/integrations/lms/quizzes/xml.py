"""XML elements with arbitrary text, and the bytes of a document."""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element, SubElement, indent, tostring

# Characters that XML 1.0 does not allow, not even escaped.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def replace_forbidden(text: str) -> str:
    """*text* with LF line ends, and with U+FFFD in place of characters that XML forbids."""
    return _FORBIDDEN.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n"))


def element(tag: str, **attributes: str) -> Element:
    """An element without a parent."""
    return Element(tag, {name: replace_forbidden(value) for name, value in attributes.items()})


def add_element(
    parent: Element, tag: str, text: str | None = None, /, **attributes: str
) -> Element:
    """A new last child of *parent*."""
    child = SubElement(
        parent, tag, {name: replace_forbidden(value) for name, value in attributes.items()}
    )
    if text is not None:
        child.text = replace_forbidden(text)
    return child


def document_bytes(root: Element) -> bytes:
    """The document in UTF-8; the same bytes for the same elements."""
    indent(root)
    written: bytes = tostring(root, encoding="utf-8", xml_declaration=True)
    return written + b"\n"
