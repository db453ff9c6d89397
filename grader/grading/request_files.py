"""Reads the files in which students request a regrade. What they contain is not trusted."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from grader.bank.shape import shape
from grader.bank.yaml12 import Located, parse_yaml, with_tuples
from grader.errors import GraderError, Location, SpecError, SpecErrors, visible
from grader.model.requests import MAX_TEXT
from grader.model.spec import Strict

FORMAT = "grader-regrade-request/1"
MAX_BYTES = 200_000
"""Maximum size of a file."""
MAX_REQUESTS = 100
"""Maximum number of requests in a file."""
_BLOCK = re.compile(r"^ {0,3}```(?:json)?[ \t]*\n(?P<data>.*?)^ {0,3}```[ \t]*$", re.M | re.S)
_FIX = "ask the student to make the file again with the form on the feedback page"


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedPart(Strict):
    """The request for one part."""

    part: str
    """The answer's variable."""
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestFile(Strict):
    """The content of one file."""

    format: str
    set: str
    student: str
    token: str
    requests: tuple[AskedPart, ...]


def read_request_file(path: Path) -> tuple[RequestFile, Located]:
    """Returns the content of a file, as `parse_requests` does."""
    return parse_requests(_read_text(path), str(path))


def parse_requests(text: str, file: str) -> tuple[RequestFile, Located]:
    """Returns the content of JSON, or of the JSON block in an issue's text, and where each piece
    is.

    Raises GraderError or SpecErrors, with file, line, and column.
    """
    block = None if text.lstrip().startswith("{") else _BLOCK.search(text)
    if block is not None:
        # With as many lines above the data as in the file, so that places fit.
        text = "\n" * text.count("\n", 0, block.start("data")) + block["data"]
    source = _locate(text, file)
    shaped = shape(RequestFile, source.data, source, ())
    errors = list(shaped.errors)
    if isinstance(shaped.record, RequestFile):
        errors += _check_record(shaped.record, source)
    if errors or not isinstance(shaped.record, RequestFile):
        raise SpecErrors(tuple(errors))
    return shaped.record, source


def _read_text(path: Path) -> str:
    """Returns the text of the file at *path*."""
    where = Location(str(path))
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        why = error.strerror or "it does not exist"
        raise GraderError(
            f"can't read the file: {why}", where=where, fix="check the path"
        ) from None
    if len(data) > MAX_BYTES:
        raise GraderError(f"the file has more than {MAX_BYTES:,} bytes", where=where, fix=_FIX)
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        at = Location(str(path), line, column)
        raise GraderError("the file is not UTF-8 text", where=at, fix=_FIX) from None


def _locate(text: str, file: str) -> Located:
    """Returns the JSON data in *text* with the line and column of each value."""
    start = Location(file, text.count("\n", 0, len(text) - len(text.lstrip())) + 1, 1)
    try:
        data = json.loads(
            text, object_pairs_hook=_refuse_repeated_keys, parse_constant=_refuse_constant
        )
        json.dumps(data, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        at = Location(file, error.lineno, error.colno)
        raise GraderError(f"not JSON: {error.msg.lower()}", where=at, fix=_FIX) from None
    except UnicodeEncodeError:  # half of a character that takes two escapes
        raise GraderError("the text is not valid Unicode", where=start, fix=_FIX) from None
    except (ValueError, RecursionError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise GraderError(f"not valid JSON: {why}", where=start, fix=_FIX) from None
    try:  # JSON is YAML, so its places are known; the values are those of the JSON reader
        places = parse_yaml(text.encode("utf-8", "surrogatepass"), file)
    except (GraderError, UnicodeError):
        places = Located(file, None, {}, {})
    return replace(places, data=with_tuples(data))


def _refuse_repeated_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a key is repeated")
    return dict(pairs)


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is not a number")


def _check_record(record: RequestFile, source: Located) -> Iterable[SpecError]:
    """Yields an error for a wrong format, and for each number or length beyond a limit."""
    if record.format != FORMAT:
        yield source.error(("format",), f"the format is not '{FORMAT}'", _FIX)
    if not 1 <= len(record.requests) <= MAX_REQUESTS:
        what = f"there are {len(record.requests)} requests, not 1 to {MAX_REQUESTS}"
        yield source.error(("requests",), what, _FIX)
    for index, part in enumerate(record.requests):
        if not 1 <= len(part.text.strip()) <= MAX_TEXT:
            what = f"the text has {len(part.text.strip()):,} characters, not 1 to {MAX_TEXT:,}"
            yield source.error(("requests", index, "text"), what, "ask for another text")


def plain_text(text: str) -> str:
    """Returns a student's text without spaces around it, and with invisible characters escaped."""
    return visible(text.replace("\r\n", "\n").strip())
