"""Hashes of passwords, and what a password must be like."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import unicodedata

from grader.errors import SetupError

_COST, _BLOCK, _LANES = 2**15, 8, 3
_MEMORY = 64 * 2**20
"""Maximum bytes for one hash; it needs 128 * cost * block."""
SHORTEST = 12
_LONGEST = 1000
_FEWEST_DIFFERENT = 5


def hash_password(password: str) -> str:
    """Returns what to store of a password: its scrypt hash, with the salt and the parameters."""
    salt = secrets.token_bytes(16)
    return _encode(salt, _scrypt(password, salt, _COST, _BLOCK, _LANES))


def _encode(salt: bytes, digest: bytes) -> str:
    encoded = [base64.b64encode(one).decode() for one in (salt, digest)]
    return "$".join(["scrypt", str(_COST), str(_BLOCK), str(_LANES), *encoded])


def is_password(password: str, stored: str) -> bool:
    """Returns whether *password* is the one that was stored.

    Takes as long if *stored* is empty, so that the time doesn't tell which accounts exist.
    """
    kind, cost, block, lanes, salt, digest = (stored or _encode(b"nobody", b"")).split("$")
    if kind != "scrypt":
        return False
    hashed = _scrypt(password, base64.b64decode(salt), int(cost), int(block), int(lanes))
    return hmac.compare_digest(hashed, base64.b64decode(digest))


def _scrypt(password: str, salt: bytes, cost: int, block: int, lanes: int) -> bytes:
    # Keyboards differ in how they compose letters with accents.
    data = unicodedata.normalize("NFKC", password[:_LONGEST]).encode("utf-8", "surrogatepass")
    return hashlib.scrypt(data, salt=salt, n=cost, r=block, p=lanes, maxmem=_MEMORY, dklen=32)


def require_good(password: str, id_: str) -> None:
    """Raises SetupError if *password* is easy to guess, or too long."""
    if len(password) < SHORTEST:
        raise SetupError(
            "this password is too short", fix=f"choose one of at least {SHORTEST} characters"
        )
    if len(password) > _LONGEST:
        raise SetupError(
            "this password is too long", fix=f"choose one of at most {_LONGEST} characters"
        )
    if len(set(password)) < _FEWEST_DIFFERENT or password.casefold() == id_.casefold():
        raise SetupError(
            "this password is easy to guess", fix="choose one with more different characters"
        )
