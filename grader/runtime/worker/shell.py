"""IPython's shell, without the parts that only interactive use needs."""

from __future__ import annotations

import ast
import codecs
import contextlib
import os
import re
import signal
import subprocess
import sys
import warnings
from collections.abc import Iterator
from typing import Any

from ipykernel.zmqshell import ZMQInteractiveShell

_CHUNK = 65536

# What IPython removes at the start of lines although it may be valid Python: an empty or indented
# first line, and prompts. All else that IPython changes is not valid Python.
_PROMPTED = re.compile(r"\A\s|^[ \t]*(>>>|\.\.\.|In +\[)", re.MULTILINE)
_AWAITS = re.compile(r"\b(await|async)\b")


class GradedShell(ZMQInteractiveShell):
    """The shell that runs cells."""

    failed_line: int | None = None
    """The line of the cell that raised the last exception; None if none did."""

    _transformed: tuple[str, str] = ("", "\n")
    """The last cell, and the result of transforming it."""

    _initial_transformers: tuple[tuple[Any, ...], ...] = ()
    """The input transformers before the first cell; empty until they are looked up."""

    def transform_cell(self, raw_cell: str) -> str:
        """Returns Python for a cell that may contain IPython syntax.

        Most cells are Python already, which IPython finds out slowly. Called twice for each cell.
        A cell of one line may also be a magic without its sign, or quit without parentheses.
        """
        last_cell, python = self._transformed
        if raw_cell != last_cell:
            has_lines = len(raw_cell.splitlines()) > 1
            if has_lines and not self._detect_custom_transformers() and _is_python(raw_cell):
                python = raw_cell if raw_cell.endswith("\n") else raw_cell + "\n"
            else:
                python = super().transform_cell(raw_cell)
            self._transformed = (raw_cell, python)
        return python

    def _detect_custom_transformers(self) -> bool:
        """Returns whether transformers differ from those at first, or any runs after IPython's."""
        manager = self.input_transformer_manager
        lists = (manager.cleanup_transforms, manager.line_transforms, manager.token_transformers)
        transformers = tuple(map(tuple, lists))
        self._initial_transformers = self._initial_transformers or transformers
        return bool(self.input_transformers_post) or transformers != self._initial_transformers

    def should_run_async(self, raw_cell: str, **about: Any) -> bool:
        """Returns whether a cell awaits outside of any function."""
        return bool(_AWAITS.search(raw_cell)) and bool(super().should_run_async(raw_cell, **about))

    def system_piped(self, cmd: str) -> None:
        """Runs `!cmd` and prints its output as it arrives, without a terminal.

        Raises OSError for a background process, as every notebook does.
        """
        if cmd.rstrip().endswith("&"):
            raise OSError("Background processes not supported.")
        process = subprocess.Popen(  # noqa: S602  # `!cmd` is meant to
            self.var_expand(cmd, depth=1),
            shell=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            process_group=0,
        )
        try:
            _print_output(process)
            process.wait()
        except BaseException:  # an interrupt, above all
            if process.returncode is None:  # otherwise the id may belong to another process
                with contextlib.suppress(OSError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            raise
        finally:
            process.stdout.close()  # type: ignore[union-attr]
        self.user_ns["_exit_code"] = process.returncode

    system = system_piped

    def _update_exit_now(self, change: Any) -> None:
        """Does nothing: exit() would end the kernel a moment later, in a later cell."""

    def showtraceback(self, *args: Any, **options: Any) -> None:
        """Records where a cell raised, without formatting the traceback, which is slow."""
        if options.get("running_compiled_code"):
            self._record_error(sys.exc_info()[1])
        else:
            super().showtraceback(*args, **options)

    def showsyntaxerror(self, *args: Any, **options: Any) -> None:
        """Records the line of a syntax error."""
        del args, options
        self._record_error(sys.exc_info()[1])

    def _format_exception_for_storage(self, exception: BaseException, *_: Any, **__: Any) -> Any:
        """Returns the entry of an exception in the history, without its traceback."""
        return {"ename": type(exception).__name__, "evalue": str(exception), "traceback": []}

    def _record_error(self, error: BaseException | None) -> None:
        self._last_traceback: list[str] = []
        self.failed_line = _cell_line_of(error)


def _print_output(process: subprocess.Popen[bytes]) -> None:
    """Prints the output of *process* until all holders of its pipe have closed it."""
    decode = codecs.getincrementaldecoder("utf-8")("replace").decode
    source = process.stdout.fileno()  # type: ignore[union-attr]
    while data := os.read(source, _CHUNK):
        sys.stdout.write(decode(data))
        sys.stdout.flush()
    sys.stdout.write(decode(b"", True))


def _is_python(text: str) -> bool:
    """Returns whether *text* is Python that IPython would not change."""
    if _PROMPTED.search(text):
        return False
    try:
        with _suppress_warnings():
            ast.parse(text)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return False
    return True


@contextlib.contextmanager
def _suppress_warnings() -> Iterator[None]:
    """Suppresses warnings, which are shown when the cell is compiled.

    `warnings.catch_warnings` would make Python show warnings again that it has shown before.
    """
    ignored = ("ignore", None, Warning, None, 0)
    filters: list[Any] = warnings.filters  # type: ignore[assignment]
    filters.insert(0, ignored)
    try:
        yield
    finally:
        filters.remove(ignored)


def _cell_line_of(error: BaseException | None) -> int | None:
    """Returns the line of the outermost cell frame in the traceback of *error*."""
    trace = error.__traceback__ if error is not None else None
    while trace is not None:
        if _is_cell_file(trace.tb_frame.f_code.co_filename):
            return trace.tb_lineno
        trace = trace.tb_next
    if isinstance(error, SyntaxError) and _is_cell_file(error.filename):
        return error.lineno
    return None


def _is_cell_file(file: object) -> bool:
    return isinstance(file, str) and file.startswith("<ipython-input-")
