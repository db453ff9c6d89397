"""An ipykernel without what nobody asks for when grading, most of it made before the fork.

There is no history, no heartbeat, no completion, no debugger, no stdin, and no thread but those
of the sockets: output leaves from the thread that prints, and an interrupt comes as a signal from
the guard.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import logging
import os
import secrets
import signal
import sys
import threading
import uuid
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import traitlets
import zmq
from ipykernel.ipkernel import IPythonKernel
from ipykernel.kernelapp import IPKernelApp
from jupyter_client.session import Session, json_packer
from traitlets.config import Config

from grader import probe, trial
from grader.inside.limits import seed_all
from grader.inside.plan import Start
from grader.inside.shell import GradedShell
from grader.inside.streams import Publisher, Stream

_SUBSCRIBED_SECONDS = 600.0
"""A kernel that is kept ready waits so long for its grader."""

_KEY_BYTES = 32

_made: list[GradedKernel] = []


class GradedKernel(IPythonKernel):
    """Made before the fork with nothing to talk through; `attach` gives it sockets."""

    shell_stream = traitlets.Any()  # a plain socket here
    _supports_kernel_subshells = False  # it would take one more thread
    _execute_sleep = 0  # nothing has to be waited for before a reply

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        # Cells that await look here for the thread in which signals arrive.
        self.shell_channel_thread = SimpleNamespace(parent_thread=threading.main_thread())
        self._asked: list[str] = []
        self._call = ""
        self.later = Session(key=b"", username="student", pack=_pack)
        """Gets its number and its key after the fork."""
        self._streams: list[Stream] = []

    def attach(self, session: Session, requests: Any, publisher: Publisher) -> None:
        """Connects the kernel."""
        self._pid = os.getpid()
        self._streams = [sys.stdout, sys.stderr]  # type: ignore[list-item]
        self.session = session
        self.shell_stream = self._requests = requests
        self.iopub_socket = publisher
        shell: Any = self.shell
        shell.exit_now = False
        for part in (shell.displayhook, shell.display_pub):
            part.session = session
            part.pub_socket = publisher

    async def serve(self) -> None:
        """Serves one request after another, for ever."""
        loop = asyncio.get_running_loop()
        self.io_loop: Any = SimpleNamespace(
            add_callback=loop.call_soon_threadsafe, call_later=loop.call_later, asyncio_loop=loop
        )
        while True:
            while self._requests.getsockopt(zmq.EVENTS) & zmq.POLLIN:
                parts = self._requests.recv_multipart(zmq.NOBLOCK, copy=False)
                await self.dispatch_shell(parts)
                if os.getpid() != self._pid:
                    os._exit(0)  # a child that a cell left to itself: one kernel is enough
            arrived = loop.create_future()
            loop.add_reader(self._requests.fd, _done, arrived)
            # The descriptor tells of a change only: what came before is looked for once more.
            if not self._requests.getsockopt(zmq.EVENTS) & zmq.POLLIN:
                await arrived
            loop.remove_reader(self._requests.fd)

    def _publish_status(self, status: str, channel: str, parent: Any = None) -> None:
        """Says when a cell is done; that it has begun, nobody asks."""
        if status == "idle":
            super()._publish_status(status, channel, parent)

    def _publish_execute_input(self, code: Any, parent: Any, execution_count: Any) -> None:
        """Nothing: who sent it knows it."""

    async def dispatch_shell(self, msg: Any, *args: Any, **kwargs: Any) -> None:
        """Serves one request; afterwards says what its names hold, if it asked for any."""
        self._asked, self._call = [], ""
        await super().dispatch_shell(msg, *args, **kwargs)
        if self._asked or self._call:
            self.pre_handler_hook()
            try:
                self._say()
            except KeyboardInterrupt:
                pass
            finally:
                self.post_handler_hook()

    async def execute_request(self, stream: Any, ident: Any, parent: Any) -> None:
        """Runs a cell; the names to ask for come with it and are looked at when it is done."""
        asked = parent["content"].pop("asked", None)
        call = parent["content"].pop("call", None)
        await super().execute_request(stream, ident, parent)
        if isinstance(asked, list):
            self._asked, self._to = asked, (ident, parent)
        if isinstance(call, str):
            self._call, self._to = call, (ident, parent)

    async def do_execute(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the code, and sends the end of a long output before the reply."""
        shell: Any = self.shell
        shell.failed_line = None
        try:
            reply = await super().do_execute(*args, **kwargs)
        finally:
            for stream in self._streams:
                stream.end()
        if shell.failed_line is not None:
            reply["line"] = shell.failed_line
        return reply

    def _say(self) -> None:
        ident, parent = self._to
        shell: Any = self.shell
        try:
            if self._call:
                text = trial.answer(self._call, shell.user_ns)
            else:
                text = probe.answers(self._asked, shell.user_ns)
        except BaseException:  # noqa: BLE001  # whatever a student put in the probe's way
            text = ""
        session: Any = self.session
        session.send(self._requests, "said", {"said": text}, parent=parent, ident=ident)


def _pack(content: Any) -> bytes:
    """JSON, also of text that is none, such as half of a pair of surrogates."""
    try:
        packed: bytes = json_packer(content)
    except UnicodeEncodeError:
        return json.dumps(content, default=str).encode("ascii")
    return packed


def prepare(folder: str) -> None:
    """Makes the kernel and its shell; *folder* is where they may put what they insist on."""
    os.environ["IPYTHONDIR"] = folder
    config = Config()
    config.HistoryManager.enabled = False
    config.IPKernelApp = Config()  # by which libraries recognise a notebook
    shell: Any = GradedShell.instance(config=config)
    log = logging.getLogger("ipykernel")
    log.addHandler(logging.NullHandler())
    log.setLevel(logging.CRITICAL)
    log.propagate = False
    kernel = GradedKernel.instance(config=config, session=None, log=log)
    shell.parent = shell.kernel = kernel
    app = IPKernelApp.instance(config=config, log=log)
    app.kernel, app.shell = kernel, shell  # where %matplotlib and others look for them
    shell.extension_manager.load_extension("storemagic")
    os.environ.pop("IPYTHONDIR")
    _rehearse(shell)
    _made.append(kernel)


def _rehearse(shell: Any) -> None:
    """Runs what is slow the first time, so that it is not the first time in any kernel."""
    shown = shell._showtraceback
    shell._showtraceback = lambda *_: None
    for code in ("_grader_ = 1 + 1", "%%time\npass", "1 / 0", "(", "await _grader_()"):
        with contextlib.redirect_stdout(io.StringIO()):
            shell.run_cell(code, store_history=False, silent=True)
    shell._showtraceback = shown
    for value in (1, 2.5, "text", True, [1.5], {"a": (1, 2)}, None):
        probe.encode(value)
        shell.display_formatter.format(value)
    shell.reset(new_session=True)
    shell.user_ns |= dict.fromkeys(("_", "__", "___"), "")


def run(start: Start, tell: int, sockets: Sequence[int]) -> None:
    """Serves the grader at *sockets* until it ends us; writes a byte to *tell* when it can."""
    (kernel,) = _made
    shell: Any = kernel.shell
    if "IPYTHONDIR" in start["environment"]:
        shell.ipython_dir = start["environment"]["IPYTHONDIR"]
    shell.db = None
    # As in every notebook: before the packages, and behind the standard library.
    places = [n for n, path in enumerate(sys.path) if path.endswith("-packages")]
    sys.path.insert(min(places, default=len(sys.path)), "")
    seed_all(start["seed"])
    session = kernel.later
    session.session = uuid.uuid4().hex
    session.pid = os.getpid()
    # Made here, so that no kernel finds another's in the memory that it got from the parent.
    key = secrets.token_hex(_KEY_BYTES).encode()
    session.key = key
    context = zmq.Context()
    requests = _listening(context, zmq.ROUTER, sockets[0])
    output = _listening(context, zmq.XPUB, sockets[1])
    os.write(tell, b"+" + key)
    os.close(tell)
    # Whoever publishes before the grader has subscribed publishes in vain.
    if not output.poll(int(1000 * _SUBSCRIBED_SECONDS)):
        os._exit(1)
    output.recv()
    publisher = Publisher(output)
    caught = _catch(start["root"])
    streams = [Stream(n, session, publisher, caught) for n in ("stdout", "stderr")]
    sys.stdout, sys.stderr = streams
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    kernel.attach(session, requests, publisher)
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    loop.run_until_complete(kernel.serve())


def _done(arrived: asyncio.Future[None]) -> None:
    if not arrived.done():
        arrived.set_result(None)


def _listening(context: zmq.Context[zmq.Socket[bytes]], kind: int, file: int) -> Any:
    """A socket that takes connections at *file*, wherever that was bound."""
    socket = context.socket(kind)
    socket.linger = 1000
    socket.setsockopt(zmq.USE_FD, file)
    socket.bind("ipc:///nowhere")  # a name has to be given, and is not used
    return socket


def _catch(root: str) -> int:
    """Makes a file of the descriptors 1 and 2, so that what C code prints is seen as well."""
    path = Path(root, "tmp", ".printed")
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_EXCL, 0o600)
    path.unlink()
    for descriptor in (1, 2):
        os.dup2(file, descriptor)
    return file
