"""Sealed packs: opened by their key alone, in memory alone, and never by anybody else."""

from __future__ import annotations

import base64
import builtins
import json
import os
import re
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from grader.bank.folders import Bank
from grader.cli import main
from grader.errors import SetupError
from grader.model import Student
from grader.release import sealed
from grader.release.file import load_release
from grader.release.rendering import make_release, write_notebooks
from grader.release.solved import solve
from tests.helpers.banks import a_bank

PLAIN = b'{"schema": "systems-grader/release/v1", "answers": "' + b"secret " * 500 + b'"}'
RELEASE = "0123456789abcdef"


@pytest.fixture(autouse=True)
def no_key() -> Iterator[None]:
    """No test holds a key that another one has left."""
    sealed.forget_key()
    yield
    sealed.forget_key()
    os.environ.pop(sealed.VARIABLE, None)


@pytest.fixture(scope="module")
def key() -> sealed.PackKey:
    return sealed.new_key()


@pytest.fixture(scope="module")
def pack(key: sealed.PackKey) -> bytes:
    return sealed.seal(PLAIN, RELEASE, key)


# The format


def test_what_is_sealed_comes_out_as_it_was(key: sealed.PackKey, pack: bytes) -> None:
    assert sealed.unseal(pack, key) == PLAIN
    assert sealed.header_of(pack).release == RELEASE
    assert sealed.is_pack(pack)


def test_a_pack_shows_nothing_of_the_release_but_its_id(pack: bytes) -> None:
    assert b"secret" not in pack
    assert b"schema" not in pack
    assert bytes.fromhex(RELEASE) in pack


def test_the_same_release_is_sealed_in_another_way_each_time(
    key: sealed.PackKey, pack: bytes
) -> None:
    again = sealed.seal(PLAIN, RELEASE, key)
    assert again[80:] != pack[80:]
    assert sealed.unseal(again, key) == PLAIN


def test_every_changed_bit_is_noticed(key: sealed.PackKey, pack: bytes) -> None:
    for at in range(len(pack)):
        changed = bytearray(pack)
        changed[at] ^= 1 << (at % 8)
        with pytest.raises(SetupError):
            sealed.unseal(bytes(changed), key)


def test_every_length_but_the_whole_is_noticed(key: sealed.PackKey, pack: bytes) -> None:
    for length in range(len(pack)):
        with pytest.raises(SetupError):
            sealed.unseal(pack[:length], key)
    with pytest.raises(SetupError, match="has extra data at its end"):
        sealed.unseal(pack + b"x", key)


def test_parts_of_two_packs_do_not_fit_together(key: sealed.PackKey, pack: bytes) -> None:
    other = sealed.seal(PLAIN, RELEASE, key)
    for at in (26, 57, 73, 100, len(pack) - 16):
        with pytest.raises(SetupError):
            sealed.unseal(pack[:at] + other[at:], key)


def test_the_id_is_sealed_with_the_rest(key: sealed.PackKey, pack: bytes) -> None:
    changed = pack.replace(bytes.fromhex(RELEASE), bytes.fromhex("f" * 16))
    with pytest.raises(SetupError, match="was changed after it was sealed"):
        sealed.unseal(changed, key)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda p: b"", "this is not a sealed pack"),
        (lambda p: b"{}", "this is not a sealed pack"),
        (lambda p: p.replace(b"\n", b"\r\n", 1), "this is not a sealed pack"),
        (lambda p: p[:8] + b"\x02" + p[9:], "has version 2, but this grader reads version 1"),
        (lambda p: p[:40], "the pack is incomplete"),
        (lambda p: p[:-1], "the pack is incomplete"),
        (lambda p: p + p, "has extra data at its end"),
        (lambda p: p[:17] + b"\xff\xff\xff\xff" + p[21:], "claims to contain 4294967295 bytes"),
        (lambda p: p[:-1] + bytes([p[-1] ^ 1]), "was changed after it was sealed"),
    ],
)
def test_each_fault_has_a_name(key: sealed.PackKey, pack: bytes, change: Any, told: str) -> None:
    with pytest.raises(SetupError, match=re.escape(told)) as error:
        sealed.unseal(change(pack), key, "exam.pack")
    assert error.value.fix
    assert str(error.value).startswith("exam.pack: ")


def test_a_wrong_key_is_told_from_a_damaged_pack(pack: bytes) -> None:
    with pytest.raises(SetupError, match="the key does not fit this pack of release 0123456789"):
        sealed.unseal(pack, sealed.new_key())


def test_a_missing_key_is_named(pack: bytes) -> None:
    with pytest.raises(SetupError, match="is sealed, and no key was given") as error:
        sealed.unseal(pack, None)
    assert "GRADER_PACK_KEY" in str(error.value.fix)


def test_what_is_too_large_is_not_sealed(key: sealed.PackKey) -> None:
    with pytest.raises(SetupError, match="a pack can have at most"):
        sealed.seal(bytes(sealed.MOST_BYTES + 1), RELEASE, key)


def test_the_format_stays_as_it_is() -> None:
    """A pack of version 1 that was made once, with every byte of it fixed."""
    pack = base64.b64decode(OLD_PACK)
    assert sealed.unseal(pack, sealed.read_key(OLD_KEY)) == b'{"a": 1}'
    assert sealed.header_of(pack).release == "00112233445566ff"


OLD_KEY = "gpk1_jNTQIg8g04pu11RfN-Nb0zHh4dxynASjYTwSBa8p6et7nYib"
OLD_PACK = (
    "iUdSUEFDSwoBABEiM0RVZv8AAAAIAAAAEG/WZ5CBBaOUF2lOxfGpI/LS7/3Ej1bQP0xQKeCpLxMRf7kU"
    "9/aiiFnk9Tcm2METedeP1E0pMg6peTQg6EBQOp2VBH3jfmsNwVM7wLNinBat"
)


def test_without_the_library_the_error_says_what_to_install(
    key: sealed.PackKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def missing(name: str, *others: Any, **named: Any) -> Any:
        if name.startswith("cryptography"):
            raise ImportError(name)
        return real(name, *others, **named)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(SetupError, match="cryptography") as error:
        sealed.seal(PLAIN, RELEASE, key)
    assert error.value.fix == "pip install 'cryptography>=42'"


# The key


def test_a_key_is_256_random_bits(key: sealed.PackKey) -> None:
    assert len(key.secret) == 32
    assert sealed.new_key() != key
    assert sealed.read_key(f"  {key.text}\n") == key


def test_a_key_does_not_show_itself(key: sealed.PackKey) -> None:
    assert key.text not in repr(key)
    assert repr(key.secret) not in repr(key)


@pytest.mark.parametrize("text", ["", "hunter2", "gpk1_", "gpk1_" + "ä" * 48, "x" * 53])
def test_a_password_is_no_key(text: str) -> None:
    with pytest.raises(SetupError, match="this is not the key of a sealed pack") as error:
        sealed.read_key(text)
    assert not text or text not in str(error.value)


def test_a_typing_error_in_a_key_is_named(key: sealed.PackKey) -> None:
    for at in range(5, 53):
        other = "A" if key.text[at] != "A" else "B"
        with pytest.raises(SetupError, match="a character of this key is wrong") as error:
            sealed.read_key(key.text[:at] + other + key.text[at + 1 :])
        assert key.text[:20] not in str(error.value)


def test_the_key_is_taken_out_of_the_environment(
    key: sealed.PackKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(sealed.VARIABLE, key.text)
    sealed.take_from_environment()
    assert sealed.VARIABLE not in os.environ
    child = subprocess.run(["env"], capture_output=True, text=True, check=True)
    assert key.text not in child.stdout
    assert sealed.current_key() == key


@pytest.mark.skipif(sys.platform != "linux", reason="there is no /proc elsewhere")
def test_the_key_is_wiped_from_where_the_kernel_shows_it(key: sealed.PackKey) -> None:
    code = (
        "import os, pathlib\nfrom grader.release import sealed\n"
        "before = pathlib.Path('/proc/self/environ').read_bytes()\n"
        "sealed.take_from_environment()\n"
        "after = pathlib.Path('/proc/self/environ').read_bytes()\n"
        "print(b'gpk1_' in before, b'gpk1_' in after, len(before) == len(after), "
        "b'HOME=/x' in after, os.environ['HOME'], sealed.current_key() is not None)"
    )
    environment = {**os.environ, sealed.VARIABLE: key.text, "HOME": "/x"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["True", "False", "True", "True", "/x", "True"]


# The commands


class Course:
    """A release, its pack, and a blank and a solved notebook."""

    def __init__(self, home: Path):
        self.home = home
        self.bank = a_bank(home / "bank")
        bank = Bank.open((str(self.bank),))
        students = (Student(id="ada"), Student(id="bo"))
        self.release = make_release(bank, "quiz", students, home / "release", "fixed").release
        write_notebooks(self.release, students, home / "release", bank)
        self.submissions = home / "submissions"
        self.submissions.mkdir()
        blank = (home / "release/notebooks/ada.ipynb").read_bytes()
        (self.submissions / "ada.ipynb").write_bytes(blank)
        solve(self.release, "bo", self.submissions / "bo.ipynb", bank)
        self.pack, self.key_file = home / "exam.pack", home / "exam.key"
        self.arguments = ["--bank", str(self.bank)]

    @property
    def key(self) -> str:
        return self.key_file.read_text().strip()


@pytest.fixture
def course(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Course:
    made = Course(tmp_path)
    code, out, _ = run(
        capsys, "classroom", "seal", tmp_path / "release", "--out", made.pack,
        "--key-file", made.key_file,
    )  # fmt: skip
    assert code == 0, out
    return made


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main([str(one) for one in arguments])
    out, err = capsys.readouterr()
    return int(stop.value.code or 0), out, err


def test_seal_writes_the_key_for_its_owner_alone(course: Course) -> None:
    assert stat.S_IMODE(course.key_file.stat().st_mode) == 0o600
    opened = sealed.unseal(course.pack.read_bytes(), sealed.read_key(course.key))
    assert opened == (course.home / "release/release.json").read_bytes()


def test_seal_prints_the_key_once_and_alone(
    course: Course, capsys: pytest.CaptureFixture[str]
) -> None:
    out = course.home / "other.pack"
    code, told, err = run(capsys, "classroom", "seal", course.home / "release", "--out", out)
    assert code == 0
    assert sealed.unseal(out.read_bytes(), sealed.read_key(told))
    assert "gpk1_" not in err
    assert str(out) in err


@pytest.mark.parametrize(
    ("source", "out", "key_file", "told"),
    [
        ("release", "release/release.json", "new.key", "overwrite the release"),
        (
            "release/release.json",
            "release/../release/release.json",
            "new.key",
            "overwrite the release",
        ),
        ("release", "exam.key", "exam.key", "the same file as the pack"),
        ("release", "new.key", "new.key", "the same file as the pack"),
        ("release", "new.pack", "release/release.json", "the same file as the pack or the release"),
    ],
)
def test_seal_writes_nothing_over_the_release_or_the_key(
    course: Course,
    capsys: pytest.CaptureFixture[str],
    source: str,
    out: str,
    key_file: str,
    told: str,
) -> None:
    kept = {p: p.read_bytes() for p in course.home.rglob("*") if p.is_file()}
    code, _, err = run(
        capsys, "classroom", "seal", course.home / source, "--out", course.home / out,
        "--key-file", course.home / key_file,
    )  # fmt: skip
    assert (code, told in err, "fix: choose another file" in err) == (2, True, True), err
    assert {p: p.read_bytes() for p in course.home.rglob("*") if p.is_file()} == kept


def test_seal_uses_a_key_again(course: Course, capsys: pytest.CaptureFixture[str]) -> None:
    before = course.key
    code, told, _ = run(
        capsys, "classroom", "seal", course.home / "release", "--out", course.pack,
        "--key-file", course.key_file, "--json",
    )  # fmt: skip
    assert code == 0
    assert course.key == before
    data = json.loads(told)
    assert (data["new_key"], data["release"]) == (False, course.release.id)
    assert "key" not in data


def test_a_pack_stands_in_for_a_release(
    course: Course, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(sealed.VARIABLE, course.key)
    code, out, _ = run(capsys, "key", course.pack, "--student", "ada", "--json")
    assert code == 0
    assert json.loads(out)["q1_share"]["kind"] == "numeric"


def grade(course: Course, out: Path, *more: object) -> tuple[object, ...]:
    return ("grade", course.submissions, "--out", out, "--jobs", "1", *course.arguments, *more)


@pytest.mark.thorough
def test_a_pack_grades_as_the_release_does(
    course: Course, capsys: pytest.CaptureFixture[str]
) -> None:
    results = []
    for name, source in (
        ("packed", ("--pack", course.pack, "--pack-key-file", course.key_file)),
        ("plain", ("--release", course.home / "release")),
    ):
        code, out, err = run(capsys, *grade(course, course.home / name, *source, "--json"))
        assert code == 0, err
        results.append([{**t} for t in json.loads(out)["grades"]])
        sealed.forget_key()
    assert results[0] == results[1]
    assert [t["score"] for t in results[0]] == [0.0, 3.0]


@pytest.mark.thorough
def test_results_of_a_pack_need_it_again(
    course: Course, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = course.home / "results"
    source = ("--pack", course.pack, "--pack-key-file", course.key_file)
    assert run(capsys, *grade(course, out, *source))[0] == 0
    sealed.forget_key()
    for command in (("score", out), ("report", out)):
        code, _, err = run(capsys, *command, *course.arguments)
        assert code == 2
        assert "is sealed, and no key was given" in err
    monkeypatch.setenv(sealed.VARIABLE, course.key)
    assert run(capsys, "report", out, "--publish", *course.arguments)[0] == 0
    course.pack.unlink()
    code, _, err = run(capsys, "score", out, *course.arguments)
    assert code == 2
    assert "exam.pack: the release of these results is not here" in err
    assert "--pack" in err


@pytest.mark.thorough
def test_a_correction_of_a_sealed_release_is_sealed_as_well(
    course: Course, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = course.home / "results"
    monkeypatch.setenv(sealed.VARIABLE, course.key)
    assert run(capsys, *grade(course, out, "--pack", course.pack))[0] == 0
    spec = course.bank / "problems/memory-math/sample.yaml"
    spec.write_text(spec.read_text().replace("relative: 1%", "relative: 2%"))
    code, _, err = run(capsys, "score", out, "--specs", "current", *course.arguments)
    assert code == 0, err
    (kept,) = (out / "corrected").iterdir()
    assert sealed.is_pack_file(kept)
    assert run(capsys, *grade(course, out, "--pack", course.pack))[0] == 0
    sealed.forget_key()
    assert run(capsys, "score", out, *course.arguments)[0] == 2


@pytest.mark.thorough
def test_results_go_on_with_the_release_and_back(
    course: Course, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = course.home / "results"
    monkeypatch.setenv(sealed.VARIABLE, course.key)
    assert run(capsys, *grade(course, out, "--pack", course.pack))[0] == 0
    sealed.forget_key()
    code, told, _ = run(capsys, *grade(course, out, "--release", course.home / "release", "--json"))
    assert (code, json.loads(told)["executed"]) == (0, 0)
    assert run(capsys, "score", out, *course.arguments)[0] == 0


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ((), "grading needs either --release or --pack"),
        (("--pack", "{pack}", "--release", "{plain}"), "can't be used together"),
        (("--pack", "{plain}"), "this is not a sealed pack"),
        (("--pack", "nowhere.pack"), "this file does not exist"),
        (("--pack", "{pack}"), "no key was given"),
        (("--pack", "{pack}", "--pack-key-file", "nowhere"), "can't read the key"),
        (("--pack", "{pack}", "--pack-key-file", "{plain}"), "not the key of a sealed pack"),
    ],
)
def test_wrong_use_is_named(
    course: Course, capsys: pytest.CaptureFixture[str], more: tuple[str, ...], told: str
) -> None:
    filled = (
        one.format(pack=course.pack, plain=course.home / "release/release.json") for one in more
    )
    code, _, err = run(capsys, *grade(course, course.home / "results", *filled))
    assert code == 2
    assert told in err
    assert "fix:" in err
    assert not (course.home / "results").exists()


def test_a_mistyped_key_in_the_environment_is_named(
    course: Course, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(sealed.VARIABLE, course.key[:-1] + ("A" if course.key[-1] != "A" else "B"))
    code, _, err = run(capsys, *grade(course, course.home / "results", "--pack", course.pack))
    assert code == 2
    assert "GRADER_PACK_KEY: a character of this key is wrong or missing" in err
    assert course.key[:20] not in err


# Nothing gets out

WATCH = """
import os, pathlib, time
found = []
for process in pathlib.Path("/proc").iterdir():
    if process.name.isdigit():
        try:
            found.append((process / "environ").read_bytes())
        except OSError:
            pass
everything = b"|".join(found) + repr(dict(os.environ)).encode()
q1_share = "seen: %d %d" % (b"gpk1_" in everything, b"PACK_KEY=g" in everything)
time.sleep(3)
"""


def secrets_of(course: Course) -> list[bytes]:
    """What must not be in any file, in the forms in which it could come there."""
    private = course.release.private_key
    release = (course.home / "release/release.json").read_bytes()
    shown = [course.key.encode(), private, base64.b64encode(private), private.hex().encode()]
    return [*shown, b'"private_key"', release[200:260], sealed.read_key(course.key).secret]


def files_under(folder: Path) -> Iterator[tuple[Path, bytes]]:
    for path in folder.rglob("*"):
        try:
            if path.is_file() and not path.is_symlink():
                yield path, path.read_bytes()
        except OSError:
            continue  # gone while we looked


def descendants(root: int) -> set[int]:
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(path.parent.name)] = int(words[1])
    found, grown = {root}, True
    while grown:
        more = {pid for pid, parent in parents.items() if parent in found} - found
        found |= more
        grown = bool(more)
    return found


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="there is no /proc elsewhere")
@pytest.mark.parametrize("sandbox", ["auto", "off"])
@pytest.mark.parametrize("executor", ["threads", "processes"])
def test_neither_key_nor_release_is_anywhere_while_grading(
    course: Course, executor: str, sandbox: str
) -> None:
    notebook = json.loads((course.submissions / "ada.ipynb").read_bytes())
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code" and "q1_share" in "".join(cell["source"])[:300]:
            cell["source"] = WATCH
            break
    (course.submissions / "ada.ipynb").write_text(json.dumps(notebook))
    temporary, out = course.home / "tmp", course.home / "results"
    temporary.mkdir()
    environment = {
        **os.environ,
        sealed.VARIABLE: course.key,
        "TMPDIR": str(temporary),
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }
    arguments = grade(
        course, out, "--pack", course.pack, "--executor", executor, "--sandbox", sandbox
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "grader", *map(str, arguments)],
        env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    secrets, looks, kinds_seen = secrets_of(course), 0, set()
    while process.poll() is None:
        for pid in descendants(process.pid):
            try:
                told = Path(f"/proc/{pid}/environ").read_bytes()
                line = Path(f"/proc/{pid}/cmdline").read_bytes()
            except OSError:
                continue
            kinds_seen.add(line[-60:])
            # The first moments, until the interpreter runs, are nobody's but the caller's.
            if out.exists():
                looks += 1
                assert course.key.encode() not in told + line, line
        for path, data in (*files_under(temporary), *files_under(out)):
            assert not [s for s in secrets if s in data], path
        time.sleep(0.1)
    told_at_the_end = process.stdout.read() if process.stdout else ""
    assert process.returncode == 0, told_at_the_end
    assert looks > 5
    assert len(kinds_seen) > 1
    for path, data in (*files_under(temporary), *files_under(out)):
        assert not [s for s in secrets if s in data], path
    marks = json.loads((out / "grades/ada.json").read_bytes())["marks"]
    (answer,) = [m["answer"] or m["feedback"] for m in marks if m["name"] == "q1_share"]
    assert "seen: 0 0" in answer
    solved = json.loads((out / "grades/bo.json").read_bytes())
    assert solved["score"] == solved["max_score"]


def test_a_release_that_is_no_pack_is_read_as_before(course: Course) -> None:
    assert load_release(course.home / "release").id == course.release.id
