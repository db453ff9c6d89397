"""The file with the staff's accounts: hashes of passwords and of invitations, and their rules."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import secrets
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from threading import Lock

from grader.errors import SetupError
from grader.files import exclusive_lock, write_atomic

_FORMAT = "grader-accounts/1"
_OTHERS = 0o077
_DAY = 86_400.0
_COST, _BLOCK, _LANES = 2**15, 8, 3
_MEMORY = 64 * 2**20
"""Maximum bytes for one hash; it needs 128 * cost * block."""
SHORTEST = 12
_LONGEST = 1000
_FEWEST_DIFFERENT = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """What is stored of one person. **Secret.**"""

    password: str = ""
    """The hash of the password; empty if the person has not chosen one yet."""
    invitation: str = ""
    """The hash of the token in the person's invitation; empty if none is open."""
    until: float = 0.0
    """When the invitation ends, in seconds since 1970."""


_Accounts = dict[str, Account]


class AccountFile:
    """The accounts in a file, which is read again whenever it has changed."""

    def __init__(self, path: Path):
        self._path = path
        self._state: tuple[int, ...] = ()
        self._known: _Accounts = {}
        self._lock = Lock()

    def invite(self, ids: Iterable[str], now: float, days: float) -> dict[str, str]:
        """Returns the token of a new invitation for each person.

        Removes the person's password, and earlier invitations.
        """
        tokens = {id_: secrets.token_urlsafe(32) for id_ in ids}
        until = now + days * _DAY
        new = {
            id_: Account(invitation=_digest(token), until=until) for id_, token in tokens.items()
        }
        self._replace_accounts(lambda accounts: accounts | new)
        return tokens

    def invitee_of(self, token: str, now: float) -> str | None:
        """Returns who has an open invitation with *token*; None if nobody has."""
        digest = _digest(token)
        for id_, account in self._read_if_changed().items():
            if account.invitation == digest and now < account.until:
                return id_
        return None

    def accept(self, token: str, password: str, now: float) -> str:
        """Stores the password that an invited person chose, and ends the invitation.

        Returns the person's id. Raises SetupError.
        """
        id_ = self.invitee_of(token, now)
        require_good(password, id_ or "")
        hashed = hash_password(password)

        def change(accounts: _Accounts) -> _Accounts:
            if id_ is None or accounts.get(id_, Account()).invitation != _digest(token):
                raise SetupError(
                    "this invitation is not valid", fix="ask an instructor for a new one"
                )
            return accounts | {id_: Account(password=hashed)}

        self._replace_accounts(change)
        return id_ or ""

    def accepts(self, id_: str, password: str) -> bool:
        """Returns whether *password* is right; takes the same time for an unknown *id_*."""
        return is_password(password, self._read_if_changed().get(id_, Account()).password)

    def password_of(self, id_: str) -> str:
        """Returns the stored hash, which changes with the password; empty if there is none."""
        return self._read_if_changed().get(id_, Account()).password

    def _read_if_changed(self) -> _Accounts:
        """Returns all accounts, or none without a file. Raises SetupError if others may read it."""
        with self._lock:
            try:
                status = self._path.stat()
            except FileNotFoundError:
                return {}
            except OSError as error:
                raise _unreadable_error(self._path) from error
            state = (status.st_mtime_ns, status.st_size, status.st_ino)
            if state != self._state:
                if os.name == "posix" and status.st_mode & _OTHERS:
                    fix = f"run `chmod 600 {self._path}`, and invite everybody again"
                    what = "other users of this machine may read the staff's accounts"
                    raise SetupError(what, where=str(self._path), fix=fix)
                self._known, self._state = _load_accounts(self._path), state
            return self._known

    def _replace_accounts(self, change: Callable[[_Accounts], _Accounts]) -> None:
        """Writes what *change* returns for the accounts, while no other process writes them."""
        if not self._path.parent.is_dir():
            fix = "create it, or choose another path"
            raise SetupError("there is no such folder", where=str(self._path.parent), fix=fix)
        with exclusive_lock(self._path.parent):
            accounts = change(self._read_if_changed())
            people = {id_: asdict(account) for id_, account in sorted(accounts.items())}
            text = json.dumps({"format": _FORMAT, "people": people}, indent=1) + "\n"
            write_atomic(self._path, text.encode(), durable=True, private=True)


def _load_accounts(path: Path) -> _Accounts:
    """Returns the accounts in a file. Raises SetupError if it can't be read."""
    try:
        data = json.loads(path.read_bytes())
        if data["format"] != _FORMAT:
            raise _unreadable_error(path)
        return {id_: replace(Account(), **one) for id_, one in data["people"].items()}
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise _unreadable_error(path) from error


def _unreadable_error(path: Path) -> SetupError:
    return SetupError(
        "this is not a file with accounts that can be read",
        where=str(path),
        fix="choose another path, and invite everybody",
    )


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


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
