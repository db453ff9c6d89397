"""Seals a release into a pack, which students may read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from grader.errors import SetupError
from grader.files import require_replaceable, write_atomic
from grader.release import sealed
from grader.release.file import load_release, release_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedPack:
    """A pack on disk, and its key."""

    release: str
    """The release's id."""
    bytes: int
    key: sealed.PackKey
    new_key: bool
    """Whether the key was made for this pack."""


def seal_release(source: Path, out: Path, key_file: Path | None = None) -> SealedPack:
    """Seals the release in *source* into the pack *out*.

    If *key_file* exists, its key is used, so that runners can keep their secret. Otherwise, a new
    key is made and written there, readable only by its owner. Raises SetupError if the three files
    are not different.
    """
    release = load_release(source)
    _require_different_files(source, out, key_file)
    require_replaceable(out, sealed.MAGIC)
    has_key = key_file is not None and key_file.exists()
    key = sealed.read_key_file(key_file) if key_file and has_key else sealed.new_key()
    data = release_bytes(release)
    pack = sealed.seal(data, release.id, key)
    if sealed.unseal(pack, key) != data:
        raise SetupError("the sealed pack can't be opened again", fix="report this as a bug")
    if key_file is not None and not has_key:
        # The key first: a pack without its key is useless, but a key without a pack is harmless.
        write_atomic(key_file, f"{key.text}\n".encode(), durable=True, private=True)
    write_atomic(out, pack, durable=True)
    return SealedPack(release=release.id, bytes=len(pack), key=key, new_key=not has_key)


def _require_different_files(source: Path, out: Path, key_file: Path | None) -> None:
    """Raises SetupError if writing would overwrite the release or the key."""
    original = source / "release.json" if source.is_dir() else source
    if out.resolve() == original.resolve():
        raise SetupError(
            "the pack would overwrite the release",
            where=str(out),
            fix="choose another file for --out, such as exam.pack",
        )
    if key_file is not None and key_file.resolve() in (out.resolve(), original.resolve()):
        raise SetupError(
            "the key would be in the same file as the pack or the release",
            where=str(key_file),
            fix="choose another file for --key-file, outside the repository",
        )
