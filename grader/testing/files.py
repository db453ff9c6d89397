"""Finds harmful contents in exported files of any format."""

from __future__ import annotations

import csv
import html
import io
import json
import re
import unicodedata
import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import unquote

from grader.security.leaks.contents import decode_tokens
from grader.text.csv_table import find_delimiter

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
_NUMBER = re.compile(r"[+-]?\d+([.,]\d+)?")
_MARKUP = re.compile(r"<\s*/?(script|img[^>]*\bonerror|iframe)|href\s*=\s*[\"']?javascript:", re.I)
_LINK = re.compile(r"\]\(\s*javascript:", re.I)
_COMMAND = re.compile(r"^\s*::[^:\n]*::|##\[[^\]]*\]", re.M)
_MENTION = re.compile(r"@(?=[A-Za-z])")


def find_harm(name: str, data: bytes, written: Sequence[str]) -> Iterator[str]:
    """Yields the problems of a file that contains texts *written* by students."""
    if name.endswith(".zip"):
        for inner, content in _iter_members(data):
            for what in find_harm(inner, content, written):
                yield f"{inner}: {what}"
        return
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        yield "it is not UTF-8"
        return
    ending = name.rpartition(".")[2].lower()
    yield from _CHECKS.get(ending, _check_log)(text, written)


def texts_of(name: str, data: bytes) -> list[str]:
    """Returns all texts in the file, including those in archives."""
    if name.endswith(".zip"):
        return [t for inner, content in _iter_members(data) for t in texts_of(inner, content)]
    return [data.decode("utf-8", "replace")]


def find_secrets(data: bytes, secrets: Mapping[str, str]) -> Iterator[str]:
    """Yields the names of *secrets* that the file contains, plain, escaped, or in base64 or hex."""
    for text in texts_of(".zip" if data[:2] == b"PK" else "", data):
        decoded = (part.decode("utf-8", "replace") for part, _, _ in decode_tokens(text))
        readings = (text, html.unescape(text), unquote(text), *decoded)
        for what, secret in secrets.items():
            if any(secret in reading for reading in readings):
                yield what


def _iter_members(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Yields the name and the contents of each file in a zip archive."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for name in archive.namelist():
            if not name.endswith("/"):
                yield name, archive.read(name)


def _check_json(text: str, written: Sequence[str]) -> Iterator[str]:
    """Yields what is wrong with JSON: its syntax, or control characters from students."""

    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is not JSON")

    try:
        data = json.loads(text, parse_constant=refuse)
    except ValueError as error:
        yield f"it is not JSON: {error}"
        return
    # The texts of a set are written by an instructor.
    yield from _check_characters(_iter_texts(data)) if written else ()


def _iter_texts(data: Any) -> Iterator[str]:
    """Yields all keys and strings in JSON data."""
    if isinstance(data, str):
        yield data
    elif isinstance(data, Mapping):
        for key, value in data.items():
            yield from (key, *_iter_texts(value))
    elif isinstance(data, list):
        for value in data:
            yield from _iter_texts(value)


def _check_characters(texts: Iterator[str]) -> Iterator[str]:
    """Yields characters that move a cursor or reverse text direction, and lone surrogates."""
    for text in texts:
        for c in text:
            turns = 0x202A <= ord(c) <= 0x202E or 0x2066 <= ord(c) <= 0x2069
            if turns or (unicodedata.category(c) in ("Cc", "Cs") and c not in "\n\t"):
                yield f"it contains U+{ord(c):04X}"


def _check_xml(text: str, written: Sequence[str]) -> Iterator[str]:  # noqa: ARG001
    """Yields a DOCTYPE, a syntax error, and live markup in the texts of XML."""
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        yield "it has a DOCTYPE, by which a reader may be made to open other files"
    try:
        root = ET.fromstring(text)  # noqa: S314 - has no entities
    except ET.ParseError as error:
        yield f"it is not XML: {error}"
        return
    for element in root.iter():
        for said in (element.text, element.tail, *element.attrib.values()):
            if said and _MARKUP.search(said):
                yield f"its text has live markup: {said[:80]!r}"


def _check_csv(text: str, written: Sequence[str]) -> Iterator[str]:  # noqa: ARG001
    """Yields the cells that a spreadsheet would take for formulas."""
    body = io.StringIO(text.removeprefix("\ufeff"), newline="")
    for row in csv.reader(body, delimiter=find_delimiter(text)):
        for cell in row:
            if cell.startswith(_FORMULA) and not _NUMBER.fullmatch(cell):
                yield f"a spreadsheet would compute the cell {cell[:40]!r}"


def _check_html(text: str, written: Sequence[str]) -> Iterator[str]:
    for said in written:
        if _MARKUP.search(said) and said in text:
            yield f"its text has live markup: {said!r}"


def _check_log(text: str, written: Sequence[str]) -> Iterator[str]:
    """Yields control characters, and students' lines that a CI runner would take for commands."""
    yield from _check_characters(iter([text]))
    student_lines = {line.strip() for said in written for line in said.splitlines()}
    for line in text.splitlines():
        if _COMMAND.search(line) and any(m in line for m in student_lines if _COMMAND.search(m)):
            yield f"a runner would take the line {line[:60]!r} for a command"


def _check_markdown(text: str, written: Sequence[str]) -> Iterator[str]:
    """Yields live markup, commands, links that run scripts, and mentions of people."""
    yield from _check_html(text, written)
    yield from _check_log(text, written)
    if _LINK.search(text):
        yield "a link that runs a script is live in it"
    for said in written:
        if _MENTION.match(said) and said in text:
            yield f"it mentions {said}"


_CHECKS = {
    "json": _check_json,
    "ipynb": _check_json,
    "xml": _check_xml,
    "csv": _check_csv,
    "tsv": _check_csv,
    "html": _check_html,
    "md": _check_markdown,
}
