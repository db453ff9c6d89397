"""An nbclient that records a bounded part of each cell's output and trusts no message."""

from __future__ import annotations

import asyncio
import logging
import re
from typing import Any, cast

from jupyter_client.session import json_unpacker
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionComplete

from grader import notebook
from grader.runtime.kernels import ask
from grader.runtime.kernels.base import AskReply
from grader.runtime.worker.channel import MOST_MARKS, is_crowded

MAX_MESSAGE = 8_000_000
"""Limit on one part of a message in bytes; a longer part is counted but not read."""

_TERMINAL_CODES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
# IPython's name for a cell, which means nothing to a student: " (1063758517.py, line 2)". Bounded,
# because a slow search would hold up all other notebooks.
_CELL_FILE = re.compile(
    r" \((?:[0-9]{1,20}\.py|<ipython-input-[^>\n]{0,200}>), line [0-9]{1,20}\)\Z"
)
_INCOMPLETE = "_IncompleteInputError"
"""What Python 3.13 calls the syntax error of code that ends too early."""
_LINE = re.compile(r"Cell In\[[0-9]{1,9}\], line ([0-9]{1,6})\b")

_MOST_LINES = 1_000_000
_LONGEST_ERROR = 10_000
"""Characters read of an exception's message; our kernels send no more."""
_MOST_FRAMES = 100
_LONGEST_FRAME = 1_000
"""Characters searched in a frame for its line number, which is at its start."""
_LARGEST_COUNT = 2**53
_MOST_SHOWN = 8
_LONGEST_SHOWN = 1_000
"""Limit on the characters of a result, which is expected to be a number."""

log = logging.getLogger("grader.kernels")
log.addHandler(logging.NullHandler())
log.propagate = False  # a kernel's errors belong in the evidence, not on the terminal


def unpack_part(packed: bytes) -> dict[str, Any]:
    """Decodes one part of a message; if it is too large, returns a stand-in that fits any part."""
    if len(packed) > MAX_MESSAGE or is_crowded(packed, MOST_MARKS):
        return {"cut": len(packed), "status": "error", "ename": "Error", "evalue": "(too long)"}
    part = json_unpacker(packed)
    if not isinstance(part, dict):
        return {}
    part.pop("date", None)  # of a header: parsing it costs more than all the rest
    return part


class Transcript:
    """The start and the end of printed output, in at most *room* bytes."""

    def __init__(self, room: int):
        self._half = max(room // 2, 0)
        self._head = bytearray()
        self._tail = bytearray()
        self._cut = 0

    def add(self, text: object) -> None:
        """Appends *text* if it is a string."""
        if not isinstance(text, str):
            return
        data = text.encode("utf-8", "replace")
        free = self._half - len(self._head)
        self._head += data[:free]
        self._tail += data[free:]
        if len(self._tail) > 2 * self._half:
            self._trim()

    def count_cut(self, count: object) -> None:
        """Adds *count* to the bytes that were cut without being read."""
        if type(count) is int and 0 <= count < _LARGEST_COUNT:
            self._cut += count

    def _trim(self) -> None:
        extra = max(len(self._tail) - self._half, 0)
        self._cut += extra
        del self._tail[:extra]

    def text(self) -> str:
        """Returns the kept text, with a line that says how much was cut."""
        self._trim()
        if not self._cut:
            return (self._head + self._tail).decode("utf-8", "ignore")
        head, tail = (part.decode("utf-8", "ignore") for part in (self._head, self._tail))
        return f"{head}\n[... {self._cut} bytes were cut here ...]\n{tail}"


class _NoManager:
    """Stands in for the kernel manager that nbclient expects; kernels are managed elsewhere."""


class CellClient(NotebookClient):
    """Runs cells one after another in a kernel that is started, watched, and killed elsewhere."""

    def __init__(self, client: Any = None):
        super().__init__(
            notebook.one_cell_notebook(),
            km=cast("Any", _NoManager()),
            allow_errors=True,
            timeout=None,
            iopub_timeout=2,
            record_timing=False,
            coalesce_streams=False,
            on_cell_executed=self._record_reply,
        )
        self.log = log
        self.kc: Any = client
        self.transcript = Transcript(0)
        self.reply: dict[str, Any] = {}
        self._shown: list[tuple[str, ...]] = []

    async def run(self, source: str, keep: int) -> None:
        """Executes *source*; afterward `transcript`, `error`, and `line` hold the result."""
        self.transcript, self.reply, self._shown = Transcript(keep), {}, []
        # A new node, so that metadata in the student's notebook has no effect.
        await self.async_execute_cell(notebook.one_cell_notebook(source).cells[0], 0)

    async def _async_poll_kernel_alive(self) -> None:
        """Waits forever: the session checks whether the kernel is alive, and does so sooner."""
        await asyncio.get_running_loop().create_future()

    async def ask(self, names: tuple[str, ...]) -> AskReply:
        """Returns the reply about *names* of a kernel that supports the request."""
        return ask.parse_values(names, await self.reply_to(self.kc.ask(names), "said"))

    async def call(self, request: str) -> str | None:
        """Returns the reply to *request* of a kernel that has loaded `grader.wire.calls`."""
        return ask.reply_text(await self.reply_to(self.kc.call(request), "said"))

    async def reply_to(self, sent: str, kind: str) -> object:
        """Returns the content of the shell message of that kind that answers the request *sent*."""
        while True:
            message = await self.kc.shell_channel.get_msg()
            if message["parent_header"].get("msg_id") == sent and message["msg_type"] == kind:
                return message["content"]

    def _record_reply(self, execute_reply: Any, **_: Any) -> None:
        """Keeps the reply to a cell. Called by nbclient."""
        content = execute_reply.get("content")
        self.reply = content if isinstance(content, dict) else {}

    def process_message(self, msg: Any, cell: Any, cell_index: int) -> None:
        """Keeps text that was printed or displayed; ignores widgets, pictures and the rest.

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
        self.transcript.count_cut(content.get("cut"))
        self._record_output(msg["msg_type"], content)

    def _record_output(self, kind: str, content: dict[str, Any]) -> None:
        """Adds an output to those that nbgrader's rule looks at, up to a limit."""
        if len(self._shown) >= _MOST_SHOWN:
            return
        match kind:
            case "error":
                self._shown.append(("error",))
            case "stream" if content.get("name") == "stderr":
                self._shown.append(("stderr",))
            case "execute_result":
                data = content.get("data")
                text = data.get("text/plain") if isinstance(data, dict) else None
                if not isinstance(text, str):
                    text = "(too long)" if "cut" in content else ""
                self._shown.append(("result", text[:_LONGEST_SHOWN]))

    @property
    def shown_outputs(self) -> tuple[tuple[str, ...], ...]:
        """The outputs of the cell, in the form of `CellResult.visible_outputs`."""
        failed = self.reply.get("status") == "error"
        return (*self._shown, ("error",)) if failed else tuple(self._shown)

    @property
    def error(self) -> str | None:
        """The exception in one line, such as "ZeroDivisionError: division by zero"; or None."""
        if self.reply.get("status") != "error":
            return None
        texts = (self.reply.get(key) for key in ("ename", "evalue"))
        name, value = (t[:_LONGEST_ERROR] if isinstance(t, str) else "" for t in texts)
        value = _CELL_FILE.sub("", value)
        name = "SyntaxError" if name == _INCOMPLETE else name
        if name == "NoneType":  # what ipykernel calls an exception of a method such as __repr__
            return "an exception while its last value was displayed"
        text = f"{name}: {value}" if value else name
        return one_line(text) or "an error"

    @property
    def line(self) -> int | None:
        """The line of the cell that raised; None if the kernel does not say."""
        line = self.reply.get("line")
        if type(line) is int and 0 < line < _MOST_LINES:
            return line
        frames = self.reply.get("traceback")
        if not isinstance(frames, list):
            return None
        texts = (f[:_LONGEST_FRAME] for f in frames[:_MOST_FRAMES] if isinstance(f, str))
        match = _LINE.search(_TERMINAL_CODES.sub("", "\n".join(texts)))
        return int(match[1]) or None if match else None


def one_line(text: str) -> str:
    """Returns the first 300 characters of *text*, without line breaks and terminal codes."""
    text = _TERMINAL_CODES.sub("", text[:2_000].encode("utf-8", "replace").decode())
    return " ".join(text.split())[:300]
