"""A release to a sealed pack, which may lie where students can read it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from grader.errors import SetupError
from grader.files import write_whole
from grader.release import sealed
from grader.release.file import load_release, release_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """A pack on disk, and its key."""

    release: str
    """The release's id."""
    bytes: int
    key: sealed.PackKey
    new_key: bool
    """Whether the key was made for this pack."""


def seal_release(source: Path, out: Path, key_file: Path | None = None) -> Packed:
    """Seals the release in *source* into the pack *out*.

    With the key in *key_file*, so that runners can go on with the secret they have; where that
    file does not exist, a new key is made and written there, readable by its owner alone. Raises
    SetupError when one of the three would be written over another.
    """
    release = load_release(source)
    _keep_apart(source, out, key_file)
    known = key_file is not None and key_file.exists()
    key = sealed.read_key_file(key_file) if key_file and known else sealed.new_key()
    data = release_bytes(release)
    pack = sealed.seal(data, release.id, key)
    if sealed.unseal(pack, key) != data:
        raise SetupError("the pack does not open as it was sealed", fix="report this as a bug")
    if key_file is not None and not known:
        # Before the pack: a pack whose key is lost is of no use, a key without a pack harms nobody.
        write_whole(key_file, f"{key.text}\n".encode(), durable=True, private=True)
    write_whole(out, pack, durable=True)
    return Packed(release=release.id, bytes=len(pack), key=key, new_key=not known)


def _keep_apart(source: Path, out: Path, key_file: Path | None) -> None:
    """Raises SetupError when the release or the key would be lost by what is written."""
    original = source / "release.json" if source.is_dir() else source
    if out.resolve() == original.resolve():
        raise SetupError(
            "the pack would be written over the release it is made of",
            where=str(out),
            fix="name another file for --out, such as exam.pack",
        )
    if key_file is not None and key_file.resolve() in (out.resolve(), original.resolve()):
        raise SetupError(
            "the key would be in the same file as the pack or the release",
            where=str(key_file),
            fix="name a file of its own for --key-file, outside the repository",
        )
