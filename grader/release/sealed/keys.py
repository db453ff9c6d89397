"""The secret of a sealed pack: 256 random bits as text, and where this process stores it."""

from __future__ import annotations

import base64
import binascii
import contextlib
import hashlib
import hmac
import os
import re
import secrets
import sys
from dataclasses import dataclass
from pathlib import Path

from grader.errors import Location, SetupError

VARIABLE = "GRADER_PACK_KEY"
"""The environment variable with the secret."""

PREFIX = "gpk1_"
"""The prefix of every secret, so that secret scanners recognize it."""
TOKEN = re.compile(rb"gpk1_[A-Za-z0-9_-]{48}")

_SECRET_BYTES, _CHECK_BYTES = 32, 4
_LONGEST_FILE = 4096


@dataclass(frozen=True, slots=True)
class PackKey:
    """The secret of a pack."""

    secret: bytes

    def __repr__(self) -> str:
        # The secret must not appear in a log or traceback.
        return "PackKey(…)"

    @property
    def text(self) -> str:
        """The secret as text, with a checksum that tells a typing error from a wrong key."""
        data = self.secret + _check(self.secret)
        return PREFIX + base64.urlsafe_b64encode(data).decode()


def new_key() -> PackKey:
    """A new random secret."""
    return PackKey(secrets.token_bytes(_SECRET_BYTES))


def read_key(text: str, where: Location | str = VARIABLE) -> PackKey:
    """The secret from its text; raises SetupError, which never contains the text."""
    fix = "copy the whole line that `grader classroom seal` wrote; a password does not work"
    text = text.strip()
    if not TOKEN.fullmatch(text.encode("utf-8", "replace")):
        raise SetupError("this is not the key of a sealed pack", where=where, fix=fix)
    with contextlib.suppress(binascii.Error):
        data = base64.urlsafe_b64decode(text.removeprefix(PREFIX))
        secret, check = data[:_SECRET_BYTES], data[_SECRET_BYTES:]
        if hmac.compare_digest(check, _check(secret)):
            return PackKey(secret)
    raise SetupError("a character of this key is wrong or missing", where=where, fix=fix)


def read_key_file(path: Path) -> PackKey:
    """The secret in a file that contains nothing else; raises SetupError."""
    where = Location(str(path))
    try:
        with path.open("rb") as file:
            data = file.read(_LONGEST_FILE)
    except OSError as error:
        raise SetupError(
            f"can't read the key: {(error.strerror or str(error)).lower()}",
            where=where,
            fix=f"give the file that `grader classroom seal --key-file` wrote, or set {VARIABLE}",
        ) from None
    return read_key(data.decode("utf-8", "replace"), where)


def _check(secret: bytes) -> bytes:
    return hashlib.sha256(PREFIX.encode() + secret).digest()[:_CHECK_BYTES]


class _Held:
    """The secret of this process, global because commands load a release in many places."""

    text: str | None = None
    key: PackKey | None = None


def take() -> None:
    """Moves the secret out of the environment, so that no child process gets it.

    On Linux, it is also erased from `/proc/PID/environ`, which removing a variable does not do.
    """
    text = os.environ.pop(VARIABLE, None)
    if text is None:
        return
    _Held.text, _Held.key = text, None
    with contextlib.suppress(OSError, ValueError, IndexError):
        _wipe(VARIABLE)
    _dump_no_memory()


def hold(key: PackKey) -> None:
    """Sets *key* as the key that this process opens packs with."""
    _Held.text, _Held.key = None, key
    _dump_no_memory()


def held() -> PackKey | None:
    """The secret of this process, or None; raises SetupError for a mistyped one."""
    take()
    if _Held.key is None and _Held.text is not None:
        _Held.key, _Held.text = read_key(_Held.text), None
    return _Held.key


def forget() -> None:
    """Discards the secret of this process."""
    _Held.text = _Held.key = None


def _wipe(name: str) -> None:
    """Overwrites the initial value of the variable in this process's memory."""
    if sys.platform != "linux":
        return
    import ctypes

    # The fields follow the name in parentheses, which may contain parentheses: see proc(5).
    after = Path("/proc/self/stat").read_bytes().rpartition(b")")[2].split()
    start, end = int(after[47]), int(after[48])
    if not 0 < end - start < 1 << 24:
        return
    block = ctypes.string_at(start, end - start)
    for one in re.finditer(rb"(?:^|\0)%s=([^\0]*)" % re.escape(name.encode()), block):
        ctypes.memset(start + one.start(1), 0x78, one.end(1) - one.start(1))


def _dump_no_memory() -> None:
    """Disables core dumps, so that a crash does not write the secret to a file."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_CORE)
        # On Linux, a core dump handler gets the whole dump even at 0, but nothing at 1.
        soft = 1 if sys.platform == "linux" and most != 0 else 0
        resource.setrlimit(resource.RLIMIT_CORE, (soft, most))
