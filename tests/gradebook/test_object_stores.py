"""Evidence in an object store, with a local server that speaks S3's protocol."""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from grader.errors import GraderError, PackageError, SetupError
from grader.gradebook import Gradebook
from grader.gradebook.evidence_places import ObjectStore, find_place, parse_store, wanted_store
from grader.model import Answer, Evidence, Outcome
from tests.helpers.batch import a_class, gradebook_of
from tests.helpers.commands import fails, ok

SHA = "a" * 64


@pytest.fixture(scope="module")
def s3() -> Iterator[Any]:
    """An empty bucket `grades` on a server of this machine."""
    pytest.importorskip("s3fs", reason="needs s3fs")
    fsspec = pytest.importorskip("fsspec")
    server_of = pytest.importorskip("moto.server", reason="needs moto[s3] and flask")
    server = server_of.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        patch.setenv("AWS_ACCESS_KEY_ID", "test")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "test")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        system = fsspec.filesystem("s3", use_listings_cache=False)
        system.mkdir("grades")
        yield system
    server.stop()


def names_in(s3: Any, prefix: str) -> list[str]:
    return [name.rsplit("/", 1)[1] for name in s3.ls(prefix)] if s3.exists(prefix) else []


def some_evidence(text: str = "28 GB") -> Evidence:
    return Evidence(
        submission_sha256=SHA,
        outcome=Outcome.FINISHED,
        answers={"q1": Answer(name="q1", raw={"t": "str", "v": text})},
        cells=(),
        seconds=1.0,
    )


@pytest.mark.slow
def test_a_class_with_its_evidence_in_a_store_has_the_same_gradebook(s3, tmp_path):
    home = a_class(tmp_path, 3)
    out = tmp_path / "out"
    home.graded(out, "--evidence", "s3://grades/quiz/")
    assert not (out / "evidence").exists()
    assert (out / "evidence.url").read_text() == "s3://grades/quiz\n"
    stored = names_in(s3, "grades/quiz")
    assert len(stored) == 3
    assert all(name.endswith(".json.gz") for name in stored)
    home.graded(tmp_path / "folder")
    assert gradebook_of(out) == gradebook_of(tmp_path / "folder")
    # Later commands find it by themselves, and nothing is executed again.
    assert home.graded(out)["executed"] == 0
    ok("score", out, "--bank", home.home / "bank")

    # A backup in a folder, and back into a store.
    ok("gradebook", "copy", out, tmp_path / "backup")
    assert home.graded(tmp_path / "backup")["executed"] == 0
    assert gradebook_of(tmp_path / "backup") == gradebook_of(out)
    ok("gradebook", "copy", tmp_path / "backup", tmp_path / "again", "--evidence", "s3://grades/2")
    assert home.graded(tmp_path / "again")["executed"] == 0
    assert gradebook_of(tmp_path / "again") == gradebook_of(out)
    assert names_in(s3, "grades/2") == stored

    ok("archive", out, "s00", "--out", tmp_path / "s00.zip", "--why", "asked for it")
    ok("forget", out, "s00", "--why", "asked for it", "--bank", home.home / "bank")
    assert len(names_in(s3, "grades/quiz")) == 2
    assert len(names_in(s3, "grades/2")) == 3  # a copy is another gradebook


class TestStores:
    @pytest.mark.thorough
    def test_damaged_and_missing_evidence_is_named_by_its_address(self, s3, tmp_path):
        with Gradebook.open(tmp_path, create=True, evidence="s3://grades/damaged") as book:
            book.put_evidence(some_evidence(), "cpu")
        (name,) = names_in(s3, "grades/damaged")
        s3.pipe_file(f"grades/damaged/{name}", gzip.compress(b"{}"))
        with Gradebook.open(tmp_path) as book:
            with pytest.raises(GraderError, match="damaged") as caught:
                book.evidence(SHA)
            assert f"s3://grades/damaged/{name}" in str(caught.value)
            assert book.find_evidence(SHA) is None
            s3.rm_file(f"grades/damaged/{name}")
            assert book.find_evidence(SHA) is None
            book.put_evidence(some_evidence(), "cpu")
            assert book.find_evidence(SHA) == some_evidence()

    @pytest.mark.thorough
    def test_a_store_that_is_not_there_is_no_missing_evidence(self, s3, tmp_path, monkeypatch):
        with Gradebook.open(tmp_path, create=True, evidence="s3://grades/away") as book:
            book.put_evidence(some_evidence(), "cpu")
        monkeypatch.setattr(ObjectStore, "_system", (Unreachable(), "grades/away"))
        with Gradebook.open(tmp_path) as book:
            for use in (
                lambda: book.find_evidence(SHA),
                lambda: book.evidence_digests([SHA]),
                lambda: book.put_evidence(some_evidence("29"), "cpu"),
            ):
                with pytest.raises(SetupError, match="no route") as caught:
                    use()
                assert "s3://grades/away/" in str(caught.value)

    def test_a_bucket_that_does_not_exist_is_named(self, s3, tmp_path):
        with (
            Gradebook.open(tmp_path, create=True, evidence="s3://nowhere/x") as book,
            pytest.raises(SetupError, match="bucket does not exist"),
        ):
            book.put_evidence(some_evidence(), "cpu")


class Unreachable:
    def cat_file(self, _path):
        raise RuntimeError("no route to the store")

    def pipe_file(self, _path, _data):
        raise RuntimeError("no route to the store")


class TestPlaces:
    @pytest.mark.parametrize("address", ["bucket/x", "s3://", "://x"])
    def test_what_is_no_address_says_how_to_write_one(self, address):
        with pytest.raises(SetupError, match="not the address of an object store") as caught:
            parse_store(address)
        assert "s3://" in caught.value.fix

    def test_a_missing_package_is_named(self, monkeypatch):
        monkeypatch.setattr("grader.gradebook.evidence_places.find_spec", lambda _: None)
        with pytest.raises(PackageError) as caught:
            parse_store("gs://bucket/x")
        assert caught.value.fix == "run: pip install gcsfs"

    def test_a_folder_keeps_the_place_of_its_evidence(self, tmp_path, capsys):
        pytest.importorskip("s3fs")
        Gradebook.open(tmp_path / "a", create=True, evidence="s3://grades/a").close()
        Gradebook.open(tmp_path / "a", evidence="s3://grades/a/").close()
        with pytest.raises(SetupError, match="evidence of this folder is in s3://grades/a"):
            Gradebook.open(tmp_path / "a", evidence="s3://grades/b")
        with Gradebook.open(tmp_path / "b", create=True) as book:
            book.put_evidence(some_evidence(), "cpu")
        with pytest.raises(SetupError, match="has evidence already"):
            Gradebook.open(tmp_path / "b", evidence="s3://grades/b")
        assert "two results folders" in fails(
            capsys, "gradebook", "copy", tmp_path / "b", "postgresql://h/d?schema=x",
            "--evidence", "s3://grades/b",
        )  # fmt: skip

    def test_each_set_of_a_course_gets_a_prefix_and_old_folders_stay(self, tmp_path):
        assert wanted_store(tmp_path, "", "s3://b/course/", "midterm") == "s3://b/course/midterm"
        assert wanted_store(tmp_path, "s3://b/x", "s3://b/course", "midterm") == "s3://b/x"
        (tmp_path / "evidence").mkdir()
        (tmp_path / "evidence" / "f.json").touch()
        assert wanted_store(tmp_path, "", "s3://b/course", "midterm") == ""
        shutil.rmtree(tmp_path / "evidence")
        (tmp_path / "evidence.url").write_text("s3://elsewhere/x\n")
        assert wanted_store(tmp_path, "", "s3://b/course", "midterm") == ""
        pytest.importorskip("s3fs")
        assert find_place(tmp_path).where("f") == "s3://elsewhere/x/f"


def test_a_course_names_the_store_of_its_sets(tmp_path: Path) -> None:
    from grader.course import load_course

    (tmp_path / "course.yaml").write_text("id: mlsys\nevidence: s3://bucket/mlsys\n")
    assert load_course(tmp_path / "course.yaml").evidence == "s3://bucket/mlsys"
