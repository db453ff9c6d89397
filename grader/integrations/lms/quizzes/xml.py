"""XML elements with arbitrary text, and the bytes of a document."""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element, indent, tostring

# Characters that XML 1.0 does not allow, not even escaped.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def replace_forbidden(text: str) -> str:
    """Returns *text* with LF line ends, and with U+FFFD in place of characters that XML forbids."""
    return _FORBIDDEN.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n"))


def element(tag: str, /, *content: str | Element, **attributes: str) -> Element:
    """Returns an element with *content*: its text, and its children in order.

    An attribute that is a Python keyword gets a trailing underscore, such as `continue_`.
    """
    made = Element(tag, {k.rstrip("_"): replace_forbidden(v) for k, v in attributes.items()})
    for one in content:
        if isinstance(one, str):
            made.text = replace_forbidden(one)
        else:
            made.append(one)
    return made


def text_elements(texts: dict[str, str]) -> list[Element]:
    """Returns an element with text for each tag."""
    return [element(tag, text) for tag, text in texts.items()]


def document_bytes(root: Element) -> bytes:
    """Returns the document in UTF-8; the same bytes for the same elements."""
    indent(root)
    written: bytes = tostring(root, encoding="utf-8", xml_declaration=True)
    return written + b"\n"
