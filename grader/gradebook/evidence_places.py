"""Where evidence is kept: a folder, or an object store that fsspec can reach, such as S3."""

from __future__ import annotations

from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from grader.errors import PackageError, SetupError
from grader.files import AGAIN, make_write_error, write_atomic
from grader.gradebook.address import read_pointer, store_pointer

POINTER = "evidence.url"
"""The file that names the object store of a results folder without a folder `evidence`."""
_FOLDER = "evidence"
_EXAMPLE = "s3://my-bucket/midterm"
_PACKAGES = {"s3": "s3fs", "gs": "gcsfs", "gcs": "gcsfs", "abfs": "adlfs", "az": "adlfs"}
"""The packages that fsspec needs for some protocols."""


class EvidenceFolder:
    """A folder with one file for each piece."""

    def __init__(self, folder: Path):
        self.folder = folder

    def where(self, name: str) -> str:
        """Returns the path of a piece."""
        return str(self.folder / name)

    def read(self, name: str) -> bytes | None:
        """Returns a piece, or None if there is none."""
        try:
            return (self.folder / name).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def write(self, name: str, data: bytes) -> None:
        """Stores a piece so that it would survive a power loss. Raises SetupError."""
        write_atomic(self.folder / name, data, durable=True)

    def remove(self, name: str) -> None:
        """Removes a piece, if it exists. Raises SetupError."""
        try:
            (self.folder / name).unlink(missing_ok=True)
        except OSError as error:
            raise make_write_error(error, self.folder / name) from error


class ObjectStore:
    """A bucket, or a prefix in one, with an object for each piece."""

    def __init__(self, address: str):
        self.address = address.rstrip("/")

    def where(self, name: str) -> str:
        """Returns the address of a piece."""
        return f"{self.address}/{name}"

    def read(self, name: str) -> bytes | None:
        """Returns a piece, or None if there is none. Raises SetupError."""
        system, root = self._system
        try:
            data: bytes = system.cat_file(f"{root}/{name}")
        except FileNotFoundError:
            return None
        except Exception as error:  # each store has errors of its own
            raise self._storage_error("read", name, error) from error
        return data

    def write(self, name: str, data: bytes) -> None:
        """Stores a piece. Raises SetupError."""
        system, root = self._system
        try:
            system.pipe_file(f"{root}/{name}", data)
        except Exception as error:  # each store has errors of its own
            raise self._storage_error("written", name, error) from error

    def remove(self, name: str) -> None:
        """Removes a piece, if it exists. Raises SetupError."""
        system, root = self._system
        try:
            if system.exists(f"{root}/{name}"):
                system.rm_file(f"{root}/{name}")
        except Exception as error:  # each store has errors of its own
            raise self._storage_error("removed", name, error) from error

    @cached_property
    def _system(self) -> tuple[Any, str]:
        """The file system and the path in it, imported only when evidence is used."""
        try:
            fsspec = import_module("fsspec")  # without types
            system, root = fsspec.url_to_fs(self.address, use_listings_cache=False)
        except (ImportError, ValueError) as error:
            raise SetupError(
                f"evidence can't be stored here: {error}",
                where=self.address,
                fix=f"write an address that fsspec knows, such as {_EXAMPLE}",
            ) from error
        return system, root.rstrip("/")

    def _storage_error(self, action: str, name: str, error: Exception) -> SetupError:
        """Returns why the piece *name* can't be *action*, a past participle such as "read"."""
        reason = " ".join(str(error).split()) or type(error).__name__
        return SetupError(
            f"evidence can't be {action}: {reason}",
            where=self.where(name),
            fix=f"check the address, the credentials, and the network, then {AGAIN}",
        )


EvidencePlace = EvidenceFolder | ObjectStore
"""Stores named pieces of data that never change."""


def parse_store(address: str) -> ObjectStore:
    """Returns the object store at *address*, such as `s3://bucket/prefix`."""
    protocol, colon, rest = address.partition("://")
    if not colon or not protocol or not rest.strip("/"):
        raise SetupError(
            "this is not the address of an object store",
            where=address,
            fix=f"write it like {_EXAMPLE}; without --evidence, evidence goes to the results"
            " folder",
        )
    package = _PACKAGES.get(protocol, "fsspec")
    if find_spec(package) is None:
        raise PackageError(
            f"evidence in {protocol}:// needs the package {package}",
            fix=f"run: pip install {package}",
        )
    return ObjectStore(address)


def find_place(folder: Path) -> EvidencePlace:
    """Returns where the results folder *folder* keeps its evidence."""
    address = _stored_address(folder)
    return parse_store(address) if address else EvidenceFolder(folder / _FOLDER)


def choose_place(folder: Path, wanted: str) -> EvidencePlace:
    """Returns where the results folder *folder* keeps its evidence, or is to keep it: in the store
    *wanted* or, if that is empty, where it is now."""
    if not wanted:
        return find_place(folder)
    store = parse_store(wanted)
    current = _stored_address(folder)
    if current and current != store.address:
        raise SetupError(
            f"the evidence of this folder is in {current}",
            where=str(folder),
            fix="leave out --evidence, or choose another folder for --out",
        )
    if not current and any((folder / _FOLDER).glob("*.json*")):
        raise SetupError(
            "this folder has evidence already",
            where=str(folder / _FOLDER),
            fix=f"copy it with `grader gradebook copy {folder} NEW --evidence {store.address}`, "
            "or choose another folder for --out",
        )
    return store


def store_place(folder: Path, place: EvidencePlace) -> None:
    """Makes *place* the one where the results folder *folder* keeps its evidence."""
    if isinstance(place, ObjectStore):
        store_pointer(folder / POINTER, place.address)


def wanted_store(folder: Path, named: str, of_course: str, set_: str) -> str:
    """Returns the address of the object store that a run of the set *set_* into *folder* asks for,
    or an empty text for the place that the folder has.

    *named* is the address on the command line. The course's, *of_course*, counts for new folders
    only, and each set has a prefix of its own in it.
    """
    if named or not of_course:
        return named
    is_new = not (folder / POINTER).exists() and not any((folder / _FOLDER).glob("*.json*"))
    return f"{of_course.rstrip('/')}/{set_}" if is_new else ""


def _stored_address(folder: Path) -> str:
    text = read_pointer(folder / POINTER, "the store of the evidence")
    return (text or "").rstrip("/")
