"""The receipt of a check: which file was checked, when, and how its answers were read."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from grader import __version__
from grader.collect.check.run import CheckResult, digest_of_code, load_notebook
from grader.errors import Location, SetupError
from grader.files import read_bytes, write_atomic

SCHEMA = "systems-grader/receipt/v1"
MOST = 5_000_000

Receipt = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiptComparison:
    """The comparison of a receipt with a notebook."""

    code: str
    time: str
    intact: bool
    """Whether the receipt is unchanged since it was written."""
    same_file: bool
    """Whether the notebook's file has exactly the bytes that were checked."""
    same_code: bool
    """Whether the code cells are the same, even if an editor saved the file again."""

    @property
    def holds(self) -> bool:
        """Whether the receipt is intact and belongs to this file."""
        return self.intact and self.same_file


def make_receipt(checked: CheckResult, name: str, now: datetime) -> Receipt:
    """Returns the receipt of *checked*, a file called *name*. It proves no time and no author."""
    content: dict[str, object] = {
        "schema": SCHEMA,
        "engine": __version__,
        "time": now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "notebook": {
            "name": name,
            "sha256": checked.sha256,
            "size": checked.size,
            "code_sha256": checked.code_sha256,
        },
        "set": checked.about.exam or None,
        "release": checked.about.release or None,
        "student": checked.about.student or None,
        **({"version": checked.about.version} if checked.about.version else {}),
        "ready": checked.ready,
        "answers": answers_data(checked),
        "stopped": list(checked.trouble),
    }
    return {**content, "code": receipt_code(content)}


def answers_data(checked: CheckResult) -> list[dict[str, object]]:
    """Returns all answers as they were read, as plain data."""
    return [
        {
            "name": line.name,
            "found": line.status.value,
            "text": line.text,
            "how": line.how,
            "examples": [
                {"call": example.call, "passes": not example.fault, "text": example.fault}
                for example in line.example_results
            ],
        }
        for line in checked.lines
    ]


def receipt_code(made: Receipt) -> str:
    """Returns the code of a receipt: twelve letters and digits from a hash of its other fields.

    >>> receipt_code({"time": "2026-01-01T00:00:00Z"})
    '6R2J-2MB7-SF3W'
    """
    plain = {name: value for name, value in made.items() if name != "code"}
    text = json.dumps(plain, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    # This alphabet has no 0, 1, 8 or 9, which are easily misread.
    letters = base64.b32encode(hashlib.sha256(text.encode()).digest()).decode()[:12]
    return "-".join((letters[:4], letters[4:8], letters[8:]))


def write_receipt(made: Receipt, path: Path) -> None:
    """Writes the receipt to *path* atomically; raises SetupError."""
    text = json.dumps(made, indent=1, ensure_ascii=False) + "\n"
    # A lone surrogate, as in some file names, is escaped as JSON does it.
    write_atomic(path, text.encode("utf-8", "backslashreplace"))


def compare_receipt(receipt_path: Path, notebook: Path) -> ReceiptComparison:
    """Compares the receipt with the notebook without running it."""
    made = _load_receipt(receipt_path)
    data, read = load_notebook(notebook)
    about = made.get("notebook")
    about = about if isinstance(about, dict) else {}
    return ReceiptComparison(
        code=str(made.get("code")),
        time=str(made.get("time")),
        intact=made.get("code") == receipt_code(made),
        same_file=about.get("sha256") == hashlib.sha256(data).hexdigest(),
        same_code=about.get("code_sha256") == digest_of_code(read),
    )


def _load_receipt(path: Path) -> Receipt:
    where, fix = Location(str(path)), "give the file that --receipt wrote"
    try:
        receipt = json.loads(read_bytes(path, "the receipt", fix=fix, most=MOST))
    except (ValueError, RecursionError):
        raise SetupError("this is not a receipt", where=where, fix=fix) from None
    schema = receipt.get("schema") if isinstance(receipt, dict) else None
    if schema != SCHEMA:
        seen = f": its schema is '{schema}', not '{SCHEMA}'" if isinstance(schema, str) else ""
        raise SetupError(f"this is not a receipt{seen}", where=where, fix=fix)
    return dict(receipt)
