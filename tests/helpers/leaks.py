"""A release for tests of leaks, and everything of it that may be planted somewhere."""

from __future__ import annotations

import base64
import gzip
import io
import json
import os
import struct
import subprocess
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from grader.bank.folders import Bank
from grader.draw import paper
from grader.kinds.texts import fill
from grader.model import Paper, Release, Student
from grader.release.rendering import key_data, make_release, write_notebooks
from grader.release.sealed import new_key
from grader.security.leaks import SearchLimits, SearchResult, prepare_search, search_folder
from grader.wire.values import decode_result

SET = """\
id: quiz
title: A quiz
problems:
  - fsdp-state-per-gpu
  - activation-memory-checkpointing
  - kv-cache-size
  - online-softmax
  - int4-group-packing
"""
# The names of answers, by what they are in this set.
SIZE, FITS, PLAIN, BATCH = "q1_per_gpu", "q1_fits", "q2_stored_plain", "q2_largest_batch"


class Course:
    """A release for three students, and everything in it that is secret."""

    def __init__(self, home: Path):
        self.home = home
        self.bank = Bank.open(())
        (home / "quiz.yaml").write_text(SET, encoding="utf-8")
        students = tuple(Student(id=name) for name in ("ada", "bo", "cy"))
        self.release: Release = make_release(
            self.bank, str(home / "quiz.yaml"), students, home, "a fixed key"
        ).release
        write_notebooks(self.release, students, home, self.bank)
        self.papers = {s.id: paper(self.release, s) for s in students}
        self.keys: Mapping[str, Any] = key_data(self.release, "ada")
        self.search = prepare_search(self.release, self.bank)

    @property
    def ada(self) -> Paper:
        return self.papers["ada"]

    def value(self, name: str, digits: int = 6) -> str:
        return f"{self.keys[name]['value']:.{digits}g}"

    def notebook(self) -> dict[str, Any]:
        return json.loads((self.home / "notebooks" / "ada.ipynb").read_bytes())

    def found(self, folder: Path, **bounds: float) -> SearchResult:
        return search_folder(folder, self.search, SearchLimits(**bounds))  # type: ignore[arg-type]


# Plants --------------------------------------------------------------------------------------
# Each is given the course and a folder, and hides one thing in it. What must be found, and where.

Plant = Callable[[Course, Path], None]
PLANTS: dict[str, tuple[str, str, Plant]] = {}


def plant(kind: str, where: str) -> Callable[[Plant], Plant]:
    """Enters a plant under its name; *kind* and *where* are part of what must be found."""

    def enter(function: Plant) -> Plant:
        PLANTS[function.__name__] = (kind, where, function)
        return function

    return enter


def write(folder: Path, name: str, data: str | bytes) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def said(course: Course, name: str = SIZE) -> str:
    return f"{name} = {course.value(name)}"


@plant("key", "notes.md:3")
def in_plain(course: Course, folder: Path) -> None:
    write(folder, "notes.md", f"# Notes\n\nThe answer: {said(course)} GB\n")


@plant("key", "notes.md:1")
def number_alone(course: Course, folder: Path) -> None:
    write(folder, "notes.md", f"It comes to about {course.value(PLAIN, 6)} in the end.\n")


@plant("key", "notes.md:1")
def in_another_unit(course: Course, folder: Path) -> None:
    value = course.keys[PLAIN]["value"] * 1e9
    write(folder, "notes.md", f"It comes to {value:.0f} bytes.\n")


@plant("key", "notes.md:1")
def in_scientific_notation(course: Course, folder: Path) -> None:
    write(folder, "notes.md", f"The result is {course.keys[PLAIN]['value'] * 1e9:.5e} B\n")


@plant("key", "notes.md:1")
def with_thousands(course: Course, folder: Path) -> None:
    value = round(course.keys[PLAIN]["value"] * 1e6)
    write(folder, "notes.md", f"The result is {value:,} kB\n")


@plant("key", "conf.json:1")
def choice_beside_its_name(course: Course, folder: Path) -> None:
    write(folder, "conf.json", json.dumps({"q9_x": 1, FITS: course.keys[FITS]["value"]}))


@plant("key", "test_exam.py:2")
def in_an_assertion(course: Course, folder: Path) -> None:
    source = f"def test():\n    assert nb['{FITS}'] == '{course.keys[FITS]['value']}'\n"
    write(folder, "test_exam.py", source)


@plant("key", "test_exam.py:2")
def one_short_number(course: Course, folder: Path) -> None:
    source = f"def test():\n    assert {BATCH} == {course.keys[BATCH]['value']}\n"
    write(folder, "test_exam.py", source)


def short_keys(course: Course) -> dict[str, Any]:
    plain = (str, int, float)
    return {
        n: k["value"]
        for n, k in course.keys.items()
        if isinstance(k["value"], plain) and k["kind"] != "code"
    }


@plant("key", "answers.csv")
def in_columns(course: Course, folder: Path) -> None:
    keys = short_keys(course)
    row = ",".join(str(v) for v in keys.values())
    write(folder, "answers.csv", f"student,{','.join(keys)}\nada,{row}\n")


@plant("key", "grader_key.json")
def as_grader_key_prints_it(course: Course, folder: Path) -> None:
    write(folder, "grader_key.json", json.dumps(course.keys, indent=2))


@plant("key", "records.json")
def in_records(course: Course, folder: Path) -> None:
    records = [{"name": n, "points": 2, "value": v} for n, v in short_keys(course).items()]
    write(folder, "records.json", json.dumps(records))


def in_notebook(course: Course, folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    tree = course.notebook()
    change(tree)
    write(folder, "ada.ipynb", json.dumps(tree, indent=1))


@plant("key", "ada.ipynb")
def in_metadata_of_a_notebook(course: Course, folder: Path) -> None:
    in_notebook(
        course, folder, lambda nb: nb["metadata"].update(key={FITS: course.keys[FITS]["value"]})
    )


@plant("key", "ada.ipynb")
def in_metadata_of_a_cell(course: Course, folder: Path) -> None:
    in_notebook(
        course,
        folder,
        lambda nb: nb["cells"][3]["metadata"].update({SIZE: course.keys[SIZE]["value"]}),
    )


@plant("key", "ada.ipynb > cell")
def in_a_cell(course: Course, folder: Path) -> None:
    in_notebook(
        course,
        folder,
        lambda nb: nb["cells"].append(
            {
                "cell_type": "code",
                "id": "x",
                "metadata": {},
                "outputs": [],
                "execution_count": None,
                "source": ["# solved\n", f"{said(course)}\n"],
            }
        ),
    )


@plant("key", "ada.ipynb > cell 5, outputs")
def in_an_output(course: Course, folder: Path) -> None:
    def change(nb: dict[str, Any]) -> None:
        nb["cells"][4].update(
            cell_type="code",
            execution_count=1,
            outputs=[
                {"output_type": "stream", "name": "stdout", "text": ["checked\n", said(course)]}
            ],
        )

    in_notebook(course, folder, change)


@plant("key", "ada.ipynb > cell 5, outputs")
def in_an_html_output(course: Course, folder: Path) -> None:
    def change(nb: dict[str, Any]) -> None:
        cells = f"<td>{PLAIN}</td><td>{course.value(PLAIN, 7)}</td>"
        nb["cells"][4].update(
            cell_type="code",
            execution_count=1,
            outputs=[
                {"output_type": "display_data", "metadata": {}, "data": {"text/html": [cells]}}
            ],
        )

    in_notebook(course, folder, change)


@plant("key", "ada.ipynb > cell 1, attachments")
def in_an_attachment(course: Course, folder: Path) -> None:
    image = png(said(course))
    in_notebook(
        course,
        folder,
        lambda nb: nb["cells"][0].update(
            attachments={"a.png": {"image/png": base64.b64encode(image).decode()}}
        ),
    )


# Encodings

ENCODINGS: dict[str, Callable[[str], str]] = {
    "base64": lambda t: base64.b64encode(t.encode()).decode(),
    "base64 shifted by one": lambda t: base64.b64encode(b"x" + t.encode() + b"yy").decode(),
    "base64 shifted by two": lambda t: base64.b64encode(b"xy" + t.encode() + b"zz").decode(),
    "base64 for URLs": lambda t: base64.urlsafe_b64encode(t.encode()).decode().rstrip("="),
    "base64 twice": lambda t: base64.b64encode(base64.b64encode(t.encode())).decode(),
    "hex": lambda t: t.encode().hex(),
    "hex, in capitals": lambda t: t.encode().hex().upper(),
    "JSON in JSON": lambda t: json.dumps(json.dumps({t.split(" = ")[0]: t.split(" = ")[1]})),
    "gzip in base64": lambda t: base64.b64encode(gzip.compress(t.encode(), mtime=0)).decode(),
    "base64 in lines": lambda t: base64.encodebytes((t + " " * 90 + "end").encode()).decode(),
}


# Files of other types


def png(text: str, *, compressed: bool = False) -> bytes:
    """A picture of one pixel with a text."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        )

    header = struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)
    told = zlib.compress(text.encode()) if compressed else text.encode()
    comment = b"Comment\0" + (b"\0" if compressed else b"") + told
    return b"".join(
        [
            b"\x89PNG\r\n\x1a\n",
            chunk(b"IHDR", header),
            chunk(b"zTXt" if compressed else b"tEXt", comment),
            chunk(b"IDAT", zlib.compress(b"\0\0")),
            chunk(b"IEND", b""),
        ]
    )


def zipped(name: str, data: bytes, comment: bytes = b"") -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, data)
        archive.comment = comment
    return stream.getvalue()


def tarred(name: str, data: bytes, mode: str = "w:gz") -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode=mode) as archive:  # type: ignore[call-overload]
        info = tarfile.TarInfo(name)
        info.size = len(data)
        archive.addfile(info, io.BytesIO(data))
    return stream.getvalue()


FILES: dict[str, Callable[[bytes], bytes]] = {
    "a.gz": lambda d: gzip.compress(d, mtime=0),
    "a.zip": lambda d: zipped("inner.txt", d),
    "comment.zip": lambda d: zipped("inner.txt", b"", comment=d),
    "name.zip": lambda d: zipped(d.decode(), b""),
    "nested.zip": lambda d: zipped("inner.zip", zipped("inner.tar.gz", tarred("x.txt", d))),
    "a.tar": lambda d: tarred("x.txt", d, "w"),
    "a.tar.gz": lambda d: tarred("x.txt", d),
    "text.png": lambda d: png(d.decode()),
    "utf-16.txt": lambda d: d.decode().encode("utf-16"),
    "latin.txt": lambda d: b"\xe9\xe8 " + d,
    "binary.so": lambda d: bytes(range(256)) * 8 + d + bytes(range(256)) * 8,
}


@plant("key", "q1_fits")
def in_a_file_name(course: Course, folder: Path) -> None:
    write(folder, f"{FITS}={course.keys[FITS]['value']}.txt", "")


@plant("key", "q2_stored_plain")
def in_a_folder_name(course: Course, folder: Path) -> None:
    write(folder, f"{PLAIN}_{course.value(PLAIN, 6)}/empty", "")


# Other secrets


@plant("private key", "x.txt")
def private_key_in_hex(course: Course, folder: Path) -> None:
    write(folder, "x.txt", course.release.private_key.hex())


@plant("private key", "x.txt")
def private_key_in_base64(course: Course, folder: Path) -> None:
    write(folder, "x.txt", "k: " + base64.b64encode(course.release.private_key).decode())


@plant("private key", "x.bin")
def private_key_as_bytes(course: Course, folder: Path) -> None:
    write(folder, "x.bin", b"123" + course.release.private_key)


@plant("seed", "x.txt")
def seed_of_a_variant(course: Course, folder: Path) -> None:
    write(folder, "x.txt", f"seed {course.ada.questions[2].variant.draw.seed.hex()}")


@plant("seed", "x.txt")
def seed_of_a_hidden_case(course: Course, folder: Path) -> None:
    case = hidden(course).cases[0]
    write(folder, "x.txt", f"rng = default_rng({case.call.seed})")


@plant("release", "course/release.json")
def the_release_itself(course: Course, folder: Path) -> None:
    write(folder, "course/release.json", (course.home / "release.json").read_bytes())


@plant("pack key", ".env:1")
def key_of_a_pack(course: Course, folder: Path) -> None:
    write(folder, ".env", f"GRADER_PACK_KEY={new_key().text}\n")


def hidden(course: Course) -> Any:
    return next(k for n, k in course.ada.named_keys() if n.startswith("q4_"))


@plant("hidden case", "cases.json")
def inputs_of_hidden_cases(course: Course, folder: Path) -> None:
    write(folder, "cases.json", json.dumps([c.call.inputs for c in hidden(course).cases]))


@plant("hidden case", "test_hidden.py")
def inputs_of_hidden_cases_as_numbers(course: Course, folder: Path) -> None:
    case = max(hidden(course).cases, key=lambda c: len(c.call.inputs))
    x: Any = decode_result(json.loads(case.call.inputs)["x"])
    values = x.numbers.tolist()
    write(folder, "test_hidden.py", f"X = {values}\n")


@plant("hidden case", "expected.txt")
def expected_results(course: Course, folder: Path) -> None:
    from grader.security.leaks.secrets import _iter_plain

    expected = [decode_result(want["value"]) for want in hidden(course).expected_results]
    numbers = [str(v) for want in expected for v in _iter_plain(want)]
    write(folder, "expected.txt", " ".join(numbers))


def solution(course: Course, problem: str = "online-softmax") -> str:
    return course.release.problems[problem].solution


@plant("solution", "solution.py")
def a_solution(course: Course, folder: Path) -> None:
    write(folder, "solution.py", solution(course))


@plant("solution", "notes.md")
def a_solution_in_another_layout(course: Course, folder: Path) -> None:
    code = next(k["value"] for n, k in course.keys.items() if n.startswith("q4_"))
    lines = [f"> {'  ' * 3}{line.strip().upper()}" for line in str(code).splitlines()]
    write(folder, "notes.md", "\n\n".join(lines))


@plant("worked solution", "explanation.md")
def a_worked_solution(course: Course, folder: Path) -> None:
    variant = course.ada.questions[1].variant
    text = fill(variant.problem.explanation, variant.draw)
    write(folder, "explanation.md", text)


@plant("worked solution", "a.html")
def feedback_of_a_mistake(course: Course, folder: Path) -> None:
    write(
        folder,
        "a.html",
        "<p>This is the state of the <b>complete</b> model. You counted the saved layer inputs. "
        "While a layer is recomputed, its other activations are in memory, too.</p>",
    )


@plant("expression", "spec.yaml")
def expression_of_a_key(course: Course, folder: Path) -> None:
    write(folder, "spec.yaml", "answer: floor(free / (peak_checkpointed / batch))\n")


# Git


def git(folder: Path, *arguments: str) -> str:
    environment = {
        **os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.edu",
        "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.edu",
    }  # fmt: skip
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def repository(folder: Path) -> None:
    git(folder, "init", "-q", "-b", "main")
    write(folder, "README.md", "An exam.\n")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "begin")


def committed(folder: Path, name: str, text: str, message: str = "a change") -> str:
    write(folder, name, text)
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", message)
    return git(folder, "rev-parse", "HEAD")


@plant("key", ":secret/answers.txt:1")
def in_a_deleted_file(course: Course, folder: Path) -> None:
    repository(folder)
    committed(folder, "secret/answers.txt", said(course))
    git(folder, "rm", "-q", "secret/answers.txt")
    git(folder, "commit", "-q", "-m", "oops")


@plant("key", ":secret/answers.txt:1")
def in_a_packed_history(course: Course, folder: Path) -> None:
    in_a_deleted_file(course, folder)
    git(folder, "gc", "-q", "--prune=now")
    assert list((folder / ".git/objects/pack").glob("*.pack"))


@plant("key", "(message of a commit)")
def in_a_commit_message(course: Course, folder: Path) -> None:
    repository(folder)
    committed(folder, "a.txt", "a", f"correct the key\n\n{said(course)}")
    for log in (folder / ".git/logs").rglob("*"):
        log.unlink() if log.is_file() else None
    (folder / ".git/COMMIT_EDITMSG").unlink()


@plant("key", "key.txt")
def on_another_branch(course: Course, folder: Path) -> None:
    repository(folder)
    git(folder, "checkout", "-q", "-b", "solutions")
    committed(folder, "key.txt", said(course))
    git(folder, "checkout", "-q", "main")


@plant("key", "README.md")
def in_a_stash(course: Course, folder: Path) -> None:
    repository(folder)
    write(folder, "README.md", f"An exam.\n{said(course)}\n")
    git(folder, "stash", "-q")


@plant("key", "(in no commit")
def in_a_dangling_object(course: Course, folder: Path) -> None:
    repository(folder)
    lost = write(folder, "lost.txt", said(course))
    git(folder, "hash-object", "-w", "lost.txt")
    lost.unlink()


@plant("key", "(message of a tag)")
def in_a_tag(course: Course, folder: Path) -> None:
    repository(folder)
    git(folder, "tag", "-a", "v1", "-m", said(course))


@plant("key", "git")
def in_the_name_of_a_branch(course: Course, folder: Path) -> None:
    repository(folder)
    git(folder, "branch", f"{PLAIN}={course.value(PLAIN)}")


@plant("key", "git")
def in_a_reflog(course: Course, folder: Path) -> None:
    repository(folder)
    git(folder, "update-ref", "-m", said(course), "refs/heads/main", "HEAD", "--create-reflog")
    log = folder / ".git/logs/HEAD"
    log.write_text(log.read_text() + f"{'0' * 40} {'0' * 40} a <a> 0 +0000\t{said(course)}\n")


@plant("private key", "course.git")
def in_a_bare_repository(course: Course, folder: Path) -> None:
    work = folder / "work"
    work.mkdir()
    repository(work)
    committed(work, "k.txt", course.release.private_key.hex())
    git(folder, "clone", "-q", "--bare", "work", "course.git")
    subprocess.run(["rm", "-r", str(work)], check=True)
