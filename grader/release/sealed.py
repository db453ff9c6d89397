"""Sealed releases for runners that have the secret. They are opened in memory, never on disk.

The secret is 256 random bits as text. A pack is a plain header and an encrypted release. The header
(magic, version, the release's id, sizes, a salt, a check of the key) is authenticated with the
rest. HKDF-SHA-256 derives a key and a nonce from the secret and the pack's salt, so no two packs
share them. ChaCha20-Poly1305 encrypts the compressed release with them.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import hashlib
import hmac
import os
import re
import secrets
import struct
import sys
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from grader.errors import Location, SetupError
from grader.files import read_bytes

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

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
        data = self.secret + _checksum(self.secret)
        return PREFIX + base64.urlsafe_b64encode(data).decode()


def new_key() -> PackKey:
    """Returns a new random secret."""
    return PackKey(secrets.token_bytes(_SECRET_BYTES))


def read_key(text: str, where: Location | str = VARIABLE) -> PackKey:
    """Returns the secret in *text*. Raises SetupError, which never contains the text, for any
    other."""
    fix = "copy the whole line that `grader classroom seal` wrote; a password does not work"
    text = text.strip()
    if not TOKEN.fullmatch(text.encode("utf-8", "replace")):
        raise SetupError("this is not the key of a sealed pack", where=where, fix=fix)
    with contextlib.suppress(binascii.Error):
        data = base64.urlsafe_b64decode(text.removeprefix(PREFIX))
        secret = data[:_SECRET_BYTES]
        check = data[_SECRET_BYTES:]
        if hmac.compare_digest(check, _checksum(secret)):
            return PackKey(secret)
    raise SetupError("a character of this key is wrong or missing", where=where, fix=fix)


def read_key_file(path: Path) -> PackKey:
    """Returns the secret in a file that contains nothing else. Raises SetupError for any other
    file."""
    fix = f"give the file that `grader classroom seal --key-file` wrote, or set {VARIABLE}"
    data = read_bytes(path, "the key", fix=fix, most=_LONGEST_FILE)
    return read_key(data.decode("utf-8", "replace"), Location(str(path)))


def _checksum(secret: bytes) -> bytes:
    return hashlib.sha256(PREFIX.encode() + secret).digest()[:_CHECK_BYTES]


class _ProcessSecret:
    """The secret of this process, global because commands load a release in many places."""

    text: str | None = None


def take_from_environment() -> None:
    """Moves the secret out of the environment, so that no child process gets it.

    On Linux, it is also erased from `/proc/PID/environ`, which removing a variable does not do.
    """
    text = os.environ.pop(VARIABLE, None)
    if text is None:
        return
    _ProcessSecret.text = text
    with contextlib.suppress(OSError, ValueError, IndexError):
        _wipe(VARIABLE)
    _dump_no_memory()


def hold_key(key: PackKey) -> None:
    """Sets *key* as the key that this process opens packs with."""
    _ProcessSecret.text = key.text
    _dump_no_memory()


def current_key() -> PackKey | None:
    """Returns the secret of this process, or None. Raises SetupError for a mistyped one."""
    take_from_environment()
    return None if _ProcessSecret.text is None else read_key(_ProcessSecret.text)


def forget_key() -> None:
    """Discards the secret of this process."""
    _ProcessSecret.text = None


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
    for match in re.finditer(rb"(?:^|\0)%s=([^\0]*)" % re.escape(name.encode()), block):
        ctypes.memset(start + match.start(1), 0x78, match.end(1) - match.start(1))


def _dump_no_memory() -> None:
    """Disables core dumps, so that a crash does not write the secret to a file."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_CORE)
        # On Linux, a core dump handler gets the whole dump even at 0, but nothing at 1.
        soft = 1 if sys.platform == "linux" and hard != 0 else 0
        resource.setrlimit(resource.RLIMIT_CORE, (soft, hard))


MAGIC = b"\x89GRPACK\n"
"""No text file begins like this, and it reveals changed line endings or stripped bits."""
VERSION = 1
MOST_BYTES = 64 * 2**20
"""Maximum size of a release and of its pack: far more than needed, but safe for memory."""

_HEADER = struct.Struct(">8sB8sII32s16s")
_TAG = 16
_INFO = b"systems-grader/sealed-pack/v%d"

Where = Location | str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The unencrypted header of a pack."""

    release: str
    """The release's id."""
    size: int
    """Size of the release, in bytes."""
    packed: int
    """Size of the compressed release, in bytes."""
    salt: bytes
    check: bytes
    """Tells a wrong key from a damaged pack, without revealing anything about the key."""

    def to_bytes(self) -> bytes:
        """Returns the header as written at the beginning of the pack."""
        identity = bytes.fromhex(self.release)
        values = (MAGIC, VERSION, identity, self.size, self.packed, self.salt, self.check)
        return _HEADER.pack(*values)


def is_pack(data: bytes) -> bool:
    """Returns whether *data* begins like a pack, even if it is incomplete."""
    return data.startswith(MAGIC)


def is_pack_file(path: Path) -> bool:
    """Returns whether the file at *path* can be read and begins like a pack."""
    with contextlib.suppress(OSError), path.open("rb") as file:
        return is_pack(file.read(len(MAGIC)))
    return False


def seal(data: bytes, release: str, key: PackKey) -> bytes:
    """Returns a pack with the encrypted bytes of a release, whose id of 16 hex digits is *release*.
    Raises SetupError if the release is too large."""
    if len(data) > MOST_BYTES:
        raise SetupError(
            f"the release has {len(data)} bytes; a pack can have at most {MOST_BYTES}",
            fix="split the set or the roster, and make a pack of each",
        )
    packed = zlib.compress(data, 9)
    salt = secrets.token_bytes(32)
    derived = _derive(key, salt)
    header = Header(
        release=release, size=len(data), packed=len(packed), salt=salt, check=derived.check
    ).to_bytes()
    return header + derived.cipher.encrypt(derived.nonce, packed, header)


def header_of(data: bytes, where: Where = None) -> Header:
    """Returns the header of a pack. Raises SetupError unless *data* is a complete pack of this
    version."""
    again = "fetch the pack again, or make it again with `grader classroom seal`"
    if not is_pack(data):
        raise SetupError(
            "this is not a sealed pack",
            where=where,
            fix="give the file that `grader classroom seal` wrote",
        )
    if len(data) > len(MAGIC) and data[len(MAGIC)] != VERSION:
        raise SetupError(
            f"this pack has version {data[len(MAGIC)]}, but this grader reads version {VERSION}",
            where=where,
            fix="use the version of the grader that sealed it, or seal it again with this one",
        )
    if len(data) < _HEADER.size + _TAG:
        raise SetupError("the pack is incomplete", where=where, fix=again)
    _, _, identity, size, packed, salt, check = _HEADER.unpack_from(data)
    if size > MOST_BYTES or packed > MOST_BYTES:
        raise SetupError(
            f"the pack claims to contain {size} bytes; the maximum is {MOST_BYTES}",
            where=where,
            fix=again,
        )
    whole = _HEADER.size + packed + _TAG
    if len(data) != whole:
        what = "is incomplete" if len(data) < whole else "has extra data at its end"
        raise SetupError(
            f"the pack {what}: {len(data)} bytes instead of {whole}", where=where, fix=again
        )
    return Header(release=identity.hex(), size=size, packed=packed, salt=salt, check=check)


def unseal(data: bytes, key: PackKey | None, where: Where = None) -> bytes:
    """Decrypts a pack and returns the release's bytes.

    Raises SetupError if there is no key, or if the key or the pack is wrong.
    """
    header = header_of(data, where)
    if key is None:
        raise SetupError(
            f"release {header.release} is sealed, and no key was given",
            where=where,
            fix=f"set {VARIABLE} to the key that `grader classroom seal` wrote, "
            "or grade with --pack-key-file FILE",
        )
    derived = _derive(key, header.salt)
    if not hmac.compare_digest(derived.check, header.check):
        raise SetupError(
            f"the key does not fit this pack of release {header.release}",
            where=where,
            fix="use the key that was written when this pack was sealed",
        )
    from cryptography.exceptions import InvalidTag

    damaged = SetupError(
        "the pack was changed after it was sealed",
        where=where,
        fix="fetch the pack again, or make it again with `grader classroom seal`",
    )
    try:
        packed = derived.cipher.decrypt(derived.nonce, data[_HEADER.size :], header.to_bytes())
        stream = zlib.decompressobj()
        plain = stream.decompress(packed, header.size + 1)
    except (InvalidTag, zlib.error):
        raise damaged from None
    if len(plain) != header.size or not stream.eof:
        raise damaged
    return plain


@dataclass(frozen=True, slots=True)
class _DerivedKey:
    cipher: ChaCha20Poly1305
    nonce: bytes
    check: bytes


def _derive(key: PackKey, salt: bytes) -> _DerivedKey:
    """Returns the cipher, nonce, and check that *key* and *salt* determine. Raises SetupError
    without the library."""
    try:
        from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF
    except ImportError:
        raise SetupError(
            "sealed packs need the library 'cryptography', which is not installed",
            fix="pip install 'cryptography>=42'",
        ) from None
    derive = HKDF(algorithm=SHA256(), length=32 + 12 + 16, salt=salt, info=_INFO % VERSION)
    made = derive.derive(key.secret)
    return _DerivedKey(ChaCha20Poly1305(made[:32]), made[32:44], made[44:])
