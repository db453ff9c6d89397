"""Builds the Gradescope autograder of a release."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from grader.bank.folders import Bank
from grader.errors import SetupError
from grader.files import write_atomic
from grader.integrations.github.classrooms import ClassroomOptions, course_of
from grader.integrations.gradescope.image import TORCH_MB, WHEELS, Autograder, autograder_zip
from grader.integrations.gradescope.network import network_problems
from grader.integrations.gradescope.results import Visibility
from grader.integrations.install import OWN_WHEEL, Source, chosen_source, source_of
from grader.model import Release
from grader.release.file import load_release, release_bytes
from grader.words import counted

_PLATFORMS = ("manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64")
_LARGE = 100_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltAutograder:
    """A zip that was written."""

    release: str
    bytes: int
    notes: tuple[str, ...]


def make_autograder(
    release_file: Path,
    out: Path,
    wished: Autograder,
    bank: Bank,
    *,
    wheels: Path | None = None,
    grader_source: str = "",
    interpreter: Path | None = None,
    offline: bool = False,
) -> BuiltAutograder:
    """Writes the zip of the release in *release_file* to *out*.

    *wished* has the instructor's options; title and packages come from the release. The zip
    includes the wheels in the folder *wheels*, and installs this package's wheel if it is among
    them; otherwise pip installs it from *grader_source*. It also includes the Python in the
    archive *interpreter*, and with *offline* every other package that is needed, which are
    downloaded now. Raises SetupError if a package can't be downloaded or read.
    """
    release = load_release(release_file)
    packages = dict(_read_wheels(wheels)) if wheels is not None else {}
    source = _own_wheel(wheels, packages) or chosen_source(grader_source)
    if offline and source.wheel is None:
        name, data = _build_wheel(source)
        packages[name], install = data, f"./{WHEELS}/{name}"
    elif source.wheel is not None:
        packages[source.wheel.name] = source.wheel_bytes()
        install = f"./{WHEELS}/{source.wheel.name}"
    else:
        install = source.requirement()
    course = course_of(release, ClassroomOptions(grader_source=source.url))
    one = replace(wished, title=course.title, install=install, torch=course.torch, offline=offline)
    if interpreter is not None:
        one = replace(one, interpreter=_read_interpreter(interpreter, one.python))
    if offline:
        packages = _download_packages(one, packages)
    data = autograder_zip(replace(one, wheels=packages), release_bytes(release), bank.templates)
    write_atomic(out, data, private=True)
    return BuiltAutograder(
        release=release.id,
        bytes=len(data),
        notes=(
            *([source.note] if source.note else []),
            *_notes(release, replace(one, wheels=packages), len(data), course.cuda),
        ),
    )


def _read_wheels(folder: Path) -> Iterator[tuple[str, bytes]]:
    found = sorted(folder.glob("*.whl")) if folder.is_dir() else []
    if not found:
        raise SetupError(
            "the folder contains no wheels",
            where=str(folder),
            fix="build this package's wheel with `pip wheel --no-deps --wheel-dir DIR PATH`",
        )
    for path in found:
        yield path.name, path.read_bytes()


def _own_wheel(folder: Path | None, names: Iterable[str]) -> Source | None:
    """This package's own wheel among those in *folder*."""
    own = [name for name in names if OWN_WHEEL.fullmatch(name)]
    if folder is None or not own:
        return None
    if len(own) > 1:
        raise SetupError(
            f"the folder contains {len(own)} wheels of this package: {', '.join(own)}",
            where=str(folder),
            fix="keep only the one to install",
        )
    return source_of(str(folder / own[0]))


def _build_wheel(source: Source) -> tuple[str, bytes]:
    """Name and content of this package's wheel, downloaded or built from *source*."""
    with tempfile.TemporaryDirectory(prefix="grader-wheel-") as folder:
        _run_pip("wheel", "--no-deps", "--wheel-dir", folder, source.requirement())
        (path,) = Path(folder).glob("*.whl")
        return path.name, path.read_bytes()


def _run_pip(command: str, *words: str) -> None:
    """Runs pip; raises SetupError with pip's reason if it fails."""
    quiet = ("--quiet", "--disable-pip-version-check")
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "pip", command, *quiet, *words],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        last = [line for line in done.stderr.splitlines() if line.startswith("ERROR:")]
        raise SetupError(
            f"pip can't get every package: {last[0][7:] if last else f'see pip {command}'}",
            fix="build this package's wheel with `pip wheel --no-deps` and pass its folder "
            "as --wheels, or omit --offline",
        )


def _read_interpreter(path: Path, version: str) -> bytes:
    """The archive in *path*; raises SetupError unless it has a Python of that version."""
    wanted = f"bin/python{version}"
    fix = (
        f"pass an `install_only` archive of python-build-standalone for Python {version}, Linux, "
        "x86-64; --python chooses another version"
    )
    try:
        with tarfile.open(path, "r:gz") as archive:
            # Unpacking strips the top folder.
            inside = {name.partition("/")[2] for name in archive.getnames()}
        data = path.read_bytes()
    except (OSError, tarfile.TarError, EOFError, zlib.error):
        raise SetupError("this is not a valid .tar.gz", where=str(path), fix=fix) from None
    if wanted not in inside:
        raise SetupError(f"the archive does not contain {wanted}", where=str(path), fix=fix)
    return data


def _download_packages(one: Autograder, packages: Mapping[str, bytes]) -> dict[str, bytes]:
    """The wheels of all packages that the image installs, by file name."""
    with tempfile.TemporaryDirectory(prefix="grader-wheels-") as folder:
        given, target = Path(folder) / "given", Path(folder) / "all"
        given.mkdir()
        for name, data in packages.items():
            (given / name).write_bytes(data)
        # With pip included, the image needs only a Python.
        wanted = [str(given / Path(one.install).name), "pip", *(["torch"] if one.torch else [])]
        extra = ("--extra-index-url", "https://download.pytorch.org/whl/cpu") if one.torch else ()
        _run_pip(
            "download",
            *("--only-binary", ":all:", "--implementation", "cp"),
            *("--python-version", one.python, "--dest", str(target), "--find-links", str(given)),
            *(word for name in _PLATFORMS for word in ("--platform", name)),
            *extra,
            *wanted,
        )
        return {path.name: path.read_bytes() for path in sorted(target.glob("*.whl"))}


def _notes(release: Release, one: Autograder, size: int, cuda: bool) -> Iterator[str]:
    if not one.install.startswith("./"):
        yield f"setup.sh installs {one.install}; if the image can't reach that, see --wheels"
    bare = [s.id for s in release.students.values() if "@" not in s.id + s.email]
    if bare:
        some = ", ".join(bare[:3]) + (", …" if len(bare) > 3 else "")
        yield (
            f"{len(bare)} of {counted(len(release.students), 'student')} have no e-mail on the "
            f"roster ({some}): Gradescope must know them by their id, as user number, as e-mail, "
            "or as the part of the e-mail before the @"
        )
    if one.torch:
        yield f"some parts need torch: choose a container with at least {TORCH_MB / 1024:g} GB"
    if cuda:
        yield "some parts need a GPU, which Gradescope does not have: they stay open, unscored"
    if network_problems(release):
        yield (
            "some parts communicate between processes over 127.0.0.1, which needs a network that "
            "Gradescope's containers can't isolate: if the code of such a part fails, the part "
            "stays open, unscored"
        )
    if any(part.kind == "explanation" for p in release.problems.values() for part in p.parts):
        yield "manually graded parts stay open there, unscored"
    if size > _LARGE:
        yield f"the zip has {size / 1e6:.0f} MB; Gradescope may reject more than 100 MB"
    hidden = [one.tiers.marks, *([one.tiers.solutions] if one.solutions else [])]
    if any(tier is not Visibility.ALWAYS for tier in hidden):
        yield "Gradescope hides the total from students while any test is hidden from them"
