"""Elements of XML that hold any text, and the bytes of a document."""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element, SubElement, indent, tostring

# Everything else can't stand in an XML 1.0 document in any form.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def clean(text: str) -> str:
    """*text* with one kind of line end, and without what XML can't hold."""
    return _FORBIDDEN.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n"))


def element(tag: str, **attributes: str) -> Element:
    """An element without a parent."""
    return Element(tag, {name: clean(value) for name, value in attributes.items()})


def add(parent: Element, tag: str, text: str | None = None, /, **attributes: str) -> Element:
    """A new last child of *parent*."""
    child = SubElement(parent, tag, {name: clean(value) for name, value in attributes.items()})
    if text is not None:
        child.text = clean(text)
    return child


def document(root: Element) -> bytes:
    """The bytes of a document in UTF-8; the same for the same elements."""
    indent(root)
    written: bytes = tostring(root, encoding="utf-8", xml_declaration=True)
    return written + b"\n"
