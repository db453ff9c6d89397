"""IPython's shell, without what only a person at a screen has a use for."""

from __future__ import annotations

import codecs
import os
import subprocess
import sys
from typing import Any

from ipykernel.zmqshell import ZMQInteractiveShell

_CHUNK = 4096


class GradedShell(ZMQInteractiveShell):
    """Where cells run."""

    failed_line: int | None = None
    """The line of the cell in which the last exception was raised, if one was."""

    def system_piped(self, cmd: str) -> None:
        """Runs `!cmd` and prints what it prints, as it comes; there are no terminals here."""
        process = subprocess.Popen(  # noqa: S602  # that is what was asked for
            self.var_expand(cmd, depth=1),
            shell=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        with process:
            read = codecs.getreader("utf-8")(process.stdout, "replace")  # type: ignore[arg-type]
            while text := read.read(_CHUNK):
                sys.stdout.write(text)
        self.user_ns["_exit_code"] = process.returncode

    system = system_piped

    def ask_exit(self) -> None:
        """Nothing: exit() would end the kernel a moment later, in whichever cell then runs."""

    @property
    def db(self) -> Any:
        """What magics keep; in the student's own folder, and made when it is first needed."""
        if self._db is None:
            from IPython.external.pickleshare import PickleShareDB

            self._db = PickleShareDB(os.path.join(self.ipython_dir, "db"))  # noqa: PTH118
        return self._db

    @db.setter
    def db(self, value: Any) -> None:
        self._db = value

    def showtraceback(self, *args: Any, **options: Any) -> None:
        """Notes where a cell raised. To lay out the frames takes long, and nobody reads them."""
        if options.get("running_compiled_code"):
            self._note(sys.exc_info()[1])
        else:
            super().showtraceback(*args, **options)

    def showsyntaxerror(self, *args: Any, **options: Any) -> None:
        """The same for a cell that is not Python."""
        del args, options
        self._note(sys.exc_info()[1])

    def _format_exception_for_storage(self, exception: BaseException, *_: Any, **__: Any) -> Any:
        """What the history would keep of an exception, without its frames."""
        return {"ename": type(exception).__name__, "evalue": str(exception), "traceback": []}

    def _note(self, error: BaseException | None) -> None:
        self._last_traceback: list[str] = []
        self.failed_line = _line_of(error)


def _line_of(error: BaseException | None) -> int | None:
    """The line of a cell that *error* came through first."""
    trace = error.__traceback__ if error is not None else None
    while trace is not None:
        if _is_cell(trace.tb_frame.f_code.co_filename):
            return trace.tb_lineno
        trace = trace.tb_next
    if isinstance(error, SyntaxError) and _is_cell(error.filename):
        return error.lineno
    return None


def _is_cell(file: object) -> bool:
    return isinstance(file, str) and file.startswith("<ipython-input-")
