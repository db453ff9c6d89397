"""nbclient, made to keep of a cell what we record, bounded, and to trust no message."""

from __future__ import annotations

import logging
import re
from typing import Any

from jupyter_client.session import json_unpacker
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionComplete

from grader import notebook

MAX_MESSAGE = 8_000_000
"""Bytes of one part of a message; a longer one is counted and not read."""

_TERMINAL_CODES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
# IPython's name for a cell, which says nothing to a student: " (1063758517.py, line 2)".
_CELL_FILE = re.compile(r" \(\d+\.py, line \d+\)\Z")
_LINE = re.compile(r"Cell In\[\d+\], line (\d+)")

log = logging.getLogger("grader.kernels")
log.addHandler(logging.NullHandler())
log.propagate = False  # what a kernel does wrong belongs in the evidence, not on the terminal


def unpack(packed: bytes) -> dict[str, Any]:
    """One part of a message; a stand-in that fits every place when it is too long."""
    if len(packed) > MAX_MESSAGE:
        return {"cut": len(packed), "status": "error", "ename": "Error", "evalue": "(too long)"}
    found = json_unpacker(packed)
    return found if isinstance(found, dict) else {}


class Transcript:
    """The start and the end of what was printed, in at most *room* bytes."""

    def __init__(self, room: int):
        self._half = max(room // 2, 0)
        self._head = bytearray()
        self._tail = bytearray()
        self._cut = 0

    def add(self, text: object) -> None:
        """Appends *text*, if it is one."""
        if not isinstance(text, str):
            return
        data = text.encode("utf-8", "replace")
        free = self._half - len(self._head)
        self._head += data[:free]
        self._tail += data[free:]
        if len(self._tail) > 2 * self._half:
            self._trim()

    def skip(self, count: object) -> None:
        """Counts bytes that were never read."""
        if isinstance(count, int):
            self._cut += count

    def _trim(self) -> None:
        extra = max(len(self._tail) - self._half, 0)
        self._cut += extra
        del self._tail[:extra]

    def text(self) -> str:
        """What was kept, with a line that says how much was not."""
        self._trim()
        head, tail = (bytes(b).decode("utf-8", "ignore") for b in (self._head, self._tail))
        if self._cut:
            return f"{head}\n[... {self._cut} bytes were cut here ...]\n{tail}"
        return head + tail


class CellClient(NotebookClient):
    """Runs one cell after another in a kernel that somebody else starts, watches and kills."""

    def __init__(self, manager: Any, client: Any):
        super().__init__(
            notebook.node(),
            km=manager,
            allow_errors=True,
            timeout=None,
            iopub_timeout=2,
            record_timing=False,
            coalesce_streams=False,
            on_cell_executed=self._replied,
        )
        self.log = log
        self.kc = client
        self.transcript = Transcript(0)
        self.reply: dict[str, Any] = {}

    async def run(self, source: str, keep: int) -> None:
        """Executes *source*; afterwards `transcript`, `error` and `line` say how it went."""
        self.transcript, self.reply = Transcript(keep), {}
        # A new node: what the student's notebook says about the cell itself is not obeyed.
        await self.async_execute_cell(notebook.node(source).cells[0], 0)

    def _replied(self, execute_reply: Any, **_: Any) -> None:
        content = execute_reply.get("content")
        self.reply = content if isinstance(content, dict) else {}

    def process_message(self, msg: Any, cell: Any, cell_index: int) -> None:
        """Keeps text that was printed or shown; widgets, pictures and the rest are not looked at.

        Raises nbclient's signal when the cell is done.
        """
        del cell, cell_index
        content = msg["content"] if isinstance(msg["content"], dict) else {}
        match msg["msg_type"]:
            case "status" if content.get("execution_state") == "idle":
                raise CellExecutionComplete
            case "stream":
                self.transcript.add(content.get("text"))
            case "execute_result" | "display_data" if isinstance(content.get("data"), dict):
                self.transcript.add(content["data"].get("text/plain"))
                self.transcript.add("\n")
        self.transcript.skip(content.get("cut"))

    @property
    def error(self) -> str | None:
        """What was raised, in one line, such as "ZeroDivisionError: division by zero"."""
        if self.reply.get("status") != "error":
            return None
        name, value = (str(self.reply.get(key) or "") for key in ("ename", "evalue"))
        value = _CELL_FILE.sub("", value)
        text = f"{name}: {value}" if value else name
        return one_line(text) or "an error"

    @property
    def line(self) -> int | None:
        """The line of the cell that raised."""
        frames = self.reply.get("traceback")
        if not isinstance(frames, list):
            return None
        text = _TERMINAL_CODES.sub("", "\n".join(f for f in frames if isinstance(f, str)))
        found = _LINE.search(text)
        return int(found[1]) if found else None


def one_line(text: str) -> str:
    """The first 300 characters of *text* without line breaks and terminal codes."""
    text = _TERMINAL_CODES.sub("", text[:2_000])
    return " ".join(text.split())[:300]
