"""An ipykernel without the parts that grading does not need, mostly created before the fork.

There is no history, heartbeat, completion, debugger, stdin, or thread: requests arrive over the
kernel's own wire (see `grader.runtime.worker.channel`), output is sent by the thread that prints,
and an interrupt is a signal from the supervisor.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import logging
import os
import secrets
import signal
import socket
import sys
import threading
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import traitlets
from ipykernel.ipkernel import IPythonKernel
from ipykernel.kernelapp import IPKernelApp
from IPython.external.pickleshare import PickleShareDB
from traitlets.config import Config

from grader.runtime.worker.channel import Message, MessageReader
from grader.runtime.worker.limits import seed_all
from grader.runtime.worker.plan import KernelStart
from grader.runtime.worker.shell import GradedShell
from grader.runtime.worker.streams import Publisher, Stream, WireSession
from grader.wire import calls, encoding

_KEY_BYTES = 32
_AT_ONCE = 1_000_000
_LONGEST_REQUEST = 1_000_000_000
_LONGEST_TEXT = 10_000
"""Limit on the characters of an exception's message."""
# Looked up once, because a notebook may replace it.
_process_id = os.getpid

_made: list[GradedKernel] = []


class GradedKernel(IPythonKernel):
    """The kernel that runs a student's notebook.

    It is created before the fork, without a connection; `attach` connects it.
    """

    shell_stream = traitlets.Any()  # carries replies
    _supports_kernel_subshells = False  # it would take one more thread

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        # Cells that await look up the thread in which signals arrive here.
        self.shell_channel_thread = SimpleNamespace(parent_thread=threading.main_thread())
        self.unattached_session = WireSession(key=b"", username="student")
        """Gets its id after the fork."""
        self._streams: list[Stream] = []
        self._publisher: Any = None

    def attach(self, session: WireSession, publisher: Publisher) -> None:
        """Connects the kernel to *session* and *publisher* in this process."""
        self._pid = _process_id()
        self._streams = [sys.stdout, sys.stderr]  # type: ignore[list-item]
        self.session = session
        self._publisher = self.shell_stream = self.iopub_socket = publisher
        shell: Any = self.shell
        shell.exit_now = False
        for part in (shell.displayhook, shell.display_pub):
            part.session = session
            part.pub_socket = publisher

    async def serve(self, wire: socket.socket, key: bytes) -> None:
        """Serves one request after another, until the wire is closed."""
        loop = asyncio.get_running_loop()
        self.io_loop: Any = SimpleNamespace(
            add_callback=loop.call_soon_threadsafe, call_later=loop.call_later, asyncio_loop=loop
        )
        async for request in _iter_requests(wire, key):
            await self._serve_request(request)
            if _process_id() != self._pid:
                os._exit(0)  # a child process of a cell, which must not serve requests

    async def _serve_request(self, request: Message) -> None:
        """Runs a cell, reads names, or makes a call, as the request asks."""
        header = {"msg_id": request.to, "msg_type": f"{request.kind}_request", "session": ""}
        parent = {"header": header, "msg_id": request.to, "metadata": {}, "content": {}}
        self.set_parent([], parent, channel="shell")
        content = request.content or {}
        if request.kind == "execute":
            reply: dict[str, Any] = {"status": "error", "ename": "KeyboardInterrupt", "evalue": ""}
            with self._allow_interrupt():
                try:
                    reply = await self._execute(content["code"], silent=bool(content["silent"]))
                except asyncio.CancelledError:  # the cell has cancelled itself
                    reply = {**reply, "ename": "CancelledError"}
            ended = ("status", {"execution_state": "idle"})
            self._publisher.send_replies(request.to, (("execute_reply", reply), ended))
        else:
            reply_text = ""
            with self._allow_interrupt():
                reply_text = self._reply_text(content)
            self._publisher.send_replies(request.to, [("said", {"said": reply_text})])

    @contextlib.contextmanager
    def _allow_interrupt(self) -> Iterator[None]:
        """Lets an interrupt end the block, and nothing else."""
        signal.signal(signal.SIGINT, self._publisher.handle_interrupt)
        try:
            yield
        except KeyboardInterrupt:
            pass  # the code had just finished
        finally:
            signal.signal(signal.SIGINT, signal.SIG_IGN)

    async def _execute(self, code: str, *, silent: bool) -> dict[str, Any]:
        """Runs *code* and returns the reply, after sending the rest of a long output."""
        shell: Any = self.shell
        shell.failed_line = None
        self._forward_input(False)
        try:
            if not silent:
                self.execution_count += 1
            result = await self._run_cell(code, silent)
        finally:
            self._restore_input()
            for stream in self._streams:
                stream.send_rest()
        error = result.error_before_exec or result.error_in_exec
        if result.success and not getattr(shell, "_last_traceback_during_displayhook", False):
            return {"status": "ok"}
        reply: dict[str, Any] = {
            "status": "error",
            "ename": type(error).__name__,
            "evalue": _read_error_text(error),
            "traceback": [str(line) for line in shell._last_traceback or []],
        }
        return reply if shell.failed_line is None else {**reply, "line": shell.failed_line}

    async def _run_cell(self, code: str, silent: bool) -> Any:
        """Runs a cell with IPython; a cell that awaits runs in the event loop of the kernel."""
        shell: Any = self.shell
        try:
            transformed, failed = shell.transform_cell(code), None
        except Exception:  # noqa: BLE001  # a student's transformer may raise anything
            transformed, failed = code, sys.exc_info()
        about = {"transformed_cell": transformed, "preprocessing_exc_tuple": failed}
        if not shell.should_run_async(code, **about):
            return shell.run_cell(code, store_history=not silent, silent=silent)
        cell = shell.run_cell_async(code, store_history=not silent, silent=silent, **about)
        running = asyncio.ensure_future(cell)
        result = None
        with self._cancel_on_sigint(running):
            try:
                while not running.done():
                    with contextlib.suppress(asyncio.CancelledError):  # of this task by the cell
                        await asyncio.wait({running})
                result = running.result()
            finally:
                shell.events.trigger("post_execute")
                if not silent:
                    shell.events.trigger("post_run_cell", result)
        return result

    def _reply_text(self, content: dict[str, Any]) -> str:
        """Returns the values of names, or the result of a call, as text; empty if that fails."""
        shell: Any = self.shell
        try:
            if content.get("call"):
                return calls.answer_request(content["call"], shell.user_ns)
            return encoding.encode_answers(content["asked"], shell.user_ns)
        except BaseException:  # noqa: BLE001  # a student's objects may raise anything
            return ""


async def _iter_requests(wire: socket.socket, key: bytes) -> AsyncIterator[Message]:
    """Yields the grader's requests, one after another, until the wire is closed."""
    wire.setblocking(False)
    reader = MessageReader(key, _LONGEST_REQUEST)
    loop = asyncio.get_running_loop()
    data: bytes | None = None
    with contextlib.suppress(OSError):
        while data != b"":
            data = None
            # A cell may cancel all tasks, of which this is one.
            with contextlib.suppress(asyncio.CancelledError):
                data = await loop.sock_recv(wire, _AT_ONCE)
            reader.add(data or b"")
            for message in reader.iter_messages():
                yield message


def _read_error_text(error: BaseException) -> str:
    """Returns the start of the message of *error*; empty if reading it raises."""
    try:
        return str(error)[:_LONGEST_TEXT]
    except Exception:  # noqa: BLE001  # a student's exception class may raise anything
        return ""


def create_kernel(folder: str) -> None:
    """Creates the kernel and its shell; *folder* is for files that they must write."""
    os.environ["IPYTHONDIR"] = folder
    config = Config()
    config.HistoryManager.enabled = False
    config.IPKernelApp = Config()  # by which libraries recognize a notebook
    shell: Any = GradedShell.instance(config=config)
    log = logging.getLogger("ipykernel")
    log.addHandler(logging.NullHandler())
    log.setLevel(logging.CRITICAL)
    log.propagate = False
    kernel = GradedKernel.instance(config=config, session=None, log=log)
    shell.parent = shell.kernel = kernel
    app = IPKernelApp.instance(config=config, log=log)
    app.kernel, app.shell = kernel, shell  # where %matplotlib and others look them up
    shell.extension_manager.load_extension("storemagic")
    os.environ.pop("IPYTHONDIR")
    _warm_up(shell)
    _made.append(kernel)


def _warm_up(shell: Any) -> None:
    """Runs what is slow the first time, so that no kernel has to."""
    show_traceback = shell._showtraceback
    shell._showtraceback = lambda *_: None
    for code in ("_grader_ = 1 + 1", "%%time\npass", "1 / 0", "(", "await _grader_()"):
        with contextlib.redirect_stdout(io.StringIO()):
            shell.run_cell(code, store_history=False, silent=True)
    shell._showtraceback = show_traceback
    for value in (1, 2.5, "text", True, [1.5], {"a": (1, 2)}, None):
        encoding.encode_answer(value)
        shell.display_formatter.format(value)
    shell.reset(new_session=True)
    shell.user_ns |= dict.fromkeys(("_", "__", "___"), "")


def run_kernel(start: KernelStart, tell: int, wire_file: int) -> None:
    """Serves requests on the socket *wire_file* until the process is ended.

    Writes "+" and the kernel's key to *tell* when it is ready.
    """
    (kernel,) = _made
    shell: Any = kernel.shell
    shell.ipython_dir = start["environment"].get("IPYTHONDIR", start["root"])
    shell.db = PickleShareDB(os.path.join(shell.ipython_dir, "db"))  # noqa: PTH118
    # As in every notebook: before the packages and after the standard library.
    package_places = [n for n, path in enumerate(sys.path) if path.endswith("-packages")]
    sys.path.insert(min(package_places, default=len(sys.path)), "")
    seed_all(start["seed"])
    session = kernel.unattached_session
    session.session = uuid.uuid4().hex
    session.pid = os.getpid()
    # Created after the fork, so that no kernel finds another's key in inherited memory.
    key = secrets.token_hex(_KEY_BYTES).encode()
    session.key = key
    wire = socket.socket(fileno=wire_file)
    publisher = Publisher(os.dup(wire.fileno()), key)
    caught = _redirect_output(start["root"])
    streams = [Stream(n, publisher, caught) for n in ("stdout", "stderr")]
    sys.stdout, sys.stderr = streams
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    kernel.attach(session, publisher)
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    os.write(tell, b"+" + key)
    os.close(tell)
    loop.run_until_complete(kernel.serve(wire, key))


def _redirect_output(root: str) -> int:
    """Redirects the descriptors 1 and 2 to a file, so that what C code prints is collected."""
    path = Path(root, "tmp", ".printed")
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_EXCL, 0o600)
    path.unlink()
    for descriptor in (1, 2):
        os.dup2(file, descriptor)
    return file
