"""Collecting from real repositories on this disk, handing out to them, and feedback into them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from grader.bank.folders import Bank
from grader.cli import main
from grader.collect import collect
from grader.errors import SetupError
from grader.integrations.repositories import collecting
from grader.integrations.repositories.collecting import (
    CollectStatus,
    collect_repositories,
    fit_rule,
)
from grader.integrations.repositories.git import (
    CommandLimits,
    Credentials,
    GitError,
    git_address,
    scratch_git,
)
from grader.integrations.repositories.publishing import EMAIL, SendOptions, SendStatus, send_all
from grader.integrations.repositories.roster import load_repositories, parse_instant
from grader.integrations.repositories.snapshot import (
    CollectOptions,
    Repository,
    fetch_notebook,
)
from grader.model import Student
from grader.release.file import load_release
from grader.release.rendering import Notebooks
from tests.helpers.banks import a_bank, a_roster
from tests.helpers.classroom import Remote, git
from tests.helpers.commands import ok

OLD = '{"cells": [], "metadata": {"v": 1}, "nbformat": 4, "nbformat_minor": 5}'
NEW = '{"cells": [], "metadata": {"v": 2}, "nbformat": 4, "nbformat_minor": 5}'
JANUARY, FEBRUARY = "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"
BETWEEN = parse_instant("2026-01-15T12:00:00+01:00")
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="paths of files as addresses")


def collected(remote: Remote, out: Path, deadline: datetime | None = None, **how: Any):
    repository = Repository(student="ada", url=remote.url, deadline=deadline)
    (outcome,) = collect_repositories([repository], out, CollectOptions(**how))
    return outcome


def test_the_branch_as_it_stood_at_the_deadline(tmp_path: Path) -> None:
    remote = Remote(tmp_path, "ada")
    first = remote.push({"exam.ipynb": OLD}, JANUARY)
    remote.push({"exam.ipynb": NEW}, FEBRUARY)
    out = tmp_path / "out"
    outcome = collected(remote, out, BETWEEN)
    assert (outcome.status, outcome.commit) == (CollectStatus.COLLECTED, first)
    assert "after the deadline and are left out" in outcome.text
    assert (out / "ada.ipynb").read_text() == OLD
    # The file's time is the commit's, by which grading knows when it came.
    assert (out / "ada.ipynb").stat().st_mtime == parse_instant(JANUARY).timestamp()
    assert collected(remote, tmp_path / "all").status is CollectStatus.COLLECTED
    assert (tmp_path / "all" / "ada.ipynb").read_text() == NEW


@pytest.mark.parametrize("branch", ["", "work"])
def test_nothing_is_in_a_repository_without_commits(tmp_path: Path, branch: str) -> None:
    remote = Remote(tmp_path, "ada")
    outcome = collected(remote, tmp_path / "out", BETWEEN, branch=branch)
    assert (outcome.status, outcome.text) == (CollectStatus.NOTHING, "nothing has been pushed yet")
    remote.push({"exam.ipynb": OLD}, JANUARY)
    outcome = collected(remote, tmp_path / "other", branch="nosuch")
    assert outcome.status is CollectStatus.FAILED
    assert outcome.text.startswith("the branch does not exist")


def test_the_very_second_of_the_deadline_counts(tmp_path: Path) -> None:
    remote = Remote(tmp_path, "ada")
    commit = remote.push({"exam.ipynb": OLD}, JANUARY)
    assert collected(remote, tmp_path / "a", parse_instant(JANUARY)).commit == commit
    early = parse_instant("2025-12-31T23:59:59Z")
    assert collected(remote, tmp_path / "b", early).status is CollectStatus.NOTHING


def test_what_was_merged_later_was_not_handed_in_before(tmp_path: Path) -> None:
    """A commit from before the deadline on another branch, merged after it."""
    remote = Remote(tmp_path, "ada")
    first = remote.push({"exam.ipynb": OLD}, "2026-01-01T00:00:00Z")
    git("checkout", "--quiet", "-b", "side", cwd=remote.work)
    remote.write({"exam.ipynb": NEW})
    git("commit", "--quiet", "-am", "side", cwd=remote.work, when="2026-01-10T00:00:00Z")
    git("checkout", "--quiet", "main", cwd=remote.work)
    git("merge", "--quiet", "--no-ff", "side", cwd=remote.work, when=FEBRUARY)
    git("push", "--quiet", remote.url, "main", cwd=remote.work)
    assert collected(remote, tmp_path / "out", BETWEEN).commit == first


@pytest.mark.thorough
def test_a_commit_dated_back_comes_too_late(tmp_path: Path) -> None:
    """Its author can write any time; it was not there when we looked after the deadline."""
    remote = Remote(tmp_path, "ada")
    first = remote.push({"exam.ipynb": OLD}, JANUARY)
    out = tmp_path / "out"
    collected(remote, out, BETWEEN)
    forged = remote.push({"exam.ipynb": NEW}, "2026-01-14T00:00:00Z")
    outcome = collected(remote, out, BETWEEN)
    assert (outcome.status, outcome.commit) == (CollectStatus.KEPT, first)
    assert (out / "ada.ipynb").read_text() == OLD
    # Someone with more time is collected anew, and so is everybody when a person asks for it.
    assert collected(remote, out, parse_instant("2026-01-16T00:00:00Z")).commit == forged


SLOW = """#!/bin/sh
"{git}" "$@"
code=$?
case "$*" in *clone*) sleep 2;; esac
exit $code
"""


@pytest.mark.thorough
@pytest.mark.parametrize("first", [OLD, None], ids=["something", "nothing"])
def test_what_is_pushed_while_we_look_just_before_the_deadline_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: str | None
) -> None:
    """The look begins before the deadline and ends after it, so it settles nothing."""
    remote = Remote(tmp_path, "ada")
    if first is not None:
        remote.push({"exam.ipynb": first}, JANUARY)
    real = shutil.which("git")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "git").write_text(SLOW.format(git=real))
    (tmp_path / "bin" / "git").chmod(0o755)
    out, end = tmp_path / "out", datetime.now(UTC) + timedelta(seconds=1.5)
    with monkeypatch.context() as slow:
        slow.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
        collected(remote, out, end)
    assert datetime.now(UTC) > end
    later = remote.push({"exam.ipynb": NEW}, (end - timedelta(seconds=1)).isoformat())
    assert collected(remote, out, end).commit == later
    assert (out / "ada.ipynb").read_text() == NEW


@pytest.mark.thorough
def test_what_was_settled_before_a_stop_stays_settled(tmp_path: Path) -> None:
    ada, bo = Remote(tmp_path, "ada"), Remote(tmp_path, "bo")
    first = ada.push({"exam.ipynb": OLD}, JANUARY)
    bo.push({"exam.ipynb": OLD}, JANUARY)
    out = tmp_path / "out"
    wanted = [Repository(student=r.bare.stem, url=r.url, deadline=BETWEEN) for r in (ada, bo)]

    def stop(student: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        collect_repositories(wanted, out, CollectOptions(jobs=1), stop)
    ada.push({"exam.ipynb": NEW}, "2026-01-14T00:00:00Z")  # dated back, once we had looked
    outcomes = collect_repositories(wanted, out, CollectOptions())
    assert (outcomes[0].status, outcomes[0].commit) == (CollectStatus.KEPT, first)
    assert outcomes[1].status is CollectStatus.COLLECTED


def test_nothing_handed_in_stays_nothing(tmp_path: Path) -> None:
    remote = Remote(tmp_path, "ada")
    out = tmp_path / "out"
    assert collected(remote, out, BETWEEN).status is CollectStatus.NOTHING
    forged = remote.push({"exam.ipynb": NEW}, JANUARY)
    assert collected(remote, out, BETWEEN).status is CollectStatus.NOTHING
    assert not (out / "ada.ipynb").exists()
    again = collected(remote, out, BETWEEN, again=True)
    assert (again.status, again.commit) == (CollectStatus.COLLECTED, forged)


def test_what_came_after_a_deadline_that_is_given_later_does_not_count(tmp_path: Path) -> None:
    remote = Remote(tmp_path, "ada")
    remote.push({"exam.ipynb": OLD}, FEBRUARY)
    out = tmp_path / "out"
    assert collected(remote, out).status is CollectStatus.COLLECTED
    outcome = collected(remote, out, BETWEEN)
    assert outcome.status is CollectStatus.NOTHING
    assert outcome.text.endswith(" came later, and was moved to .late/")
    assert not (out / "ada.ipynb").exists()
    assert (out / ".late" / "ada.ipynb").read_text() == OLD
    assert collect(out, {"ada": Student(id="ada")}).missing == ("ada",)


def test_what_was_collected_in_time_stays_if_the_repository_is_emptied(tmp_path: Path) -> None:
    remote = Remote(tmp_path, "ada")
    first = remote.push({"exam.ipynb": OLD}, JANUARY)
    out = tmp_path / "out"
    future = parse_instant("2999-01-01T00:00:00Z")
    assert collected(remote, out, future).status is CollectStatus.COLLECTED
    for deadline in (None, future):
        outcome = collected(Remote(tmp_path, f"new-{deadline is None}"), out, deadline)
        assert (outcome.status, outcome.commit) == (CollectStatus.KEPT, first)
        assert outcome.text.startswith("nothing has been pushed yet; the notebook collected on ")
    assert (out / "ada.ipynb").read_text() == OLD
    assert "ada.ipynb" in (out / "times.csv").read_text()


def test_before_the_deadline_each_look_takes_what_is_there(tmp_path: Path) -> None:
    remote = Remote(tmp_path, "ada")
    future = parse_instant("2999-01-01T00:00:00Z")
    remote.push({"exam.ipynb": OLD}, JANUARY)
    assert collected(remote, tmp_path / "out", future).status is CollectStatus.COLLECTED
    newer = remote.push({"exam.ipynb": NEW}, FEBRUARY)
    assert collected(remote, tmp_path / "out", future).commit == newer


def test_a_changed_file_is_not_kept(tmp_path: Path) -> None:
    remote = Remote(tmp_path, "ada")
    remote.push({"exam.ipynb": OLD}, JANUARY)
    out = tmp_path / "out"
    collected(remote, out, BETWEEN)
    (out / "ada.ipynb").write_text("changed")
    assert collected(remote, out, BETWEEN).status is CollectStatus.COLLECTED
    assert (out / "ada.ipynb").read_text() == OLD


@pytest.mark.parametrize("date", ["@1 +0000", "@253402300900 +0000", "@4102444800 +1400"])
def test_dates_that_no_calendar_has(tmp_path: Path, date: str) -> None:
    remote = Remote(tmp_path, "ada")
    remote.push({"exam.ipynb": OLD}, date)
    assert collected(remote, tmp_path / "out").status is CollectStatus.COLLECTED


@pytest.mark.parametrize("committer", ["a <a@b>", "a a", "a <a@b> soon +0000"])
def test_a_commit_that_says_no_time_is_told(tmp_path: Path, committer: str) -> None:
    """Git takes such commits from a folder; one of them must not stop the others."""
    remote = Remote(tmp_path, "ada")
    remote.push({"exam.ipynb": OLD})
    tree = git("rev-parse", "main^{tree}", cwd=remote.bare)
    text = f"tree {tree}\nauthor {committer}\ncommitter {committer}\n\nodd\n"
    made = subprocess.run(
        ["git", "hash-object", "-t", "commit", "-w", "--stdin", "--literally"],
        input=text.encode(), cwd=remote.bare, capture_output=True, check=True,
    )  # fmt: skip
    git("update-ref", "refs/heads/main", made.stdout.decode().strip(), cwd=remote.bare)
    for deadline in (None, BETWEEN):
        outcome = collected(remote, tmp_path / "out", deadline)
        assert outcome.status is CollectStatus.COLLECTED or "does not say when" in outcome.text


def test_what_could_not_be_read_at_first_is_doubted(tmp_path: Path) -> None:
    """Who makes a repository unreadable at first gains time to date a commit back."""
    remote = Remote(tmp_path, "ada")
    (remote.work / "exam.ipynb").symlink_to("nothing")
    remote.push({}, JANUARY)
    out = tmp_path / "out"
    assert collected(remote, out, BETWEEN).status is CollectStatus.FAILED
    (remote.work / "exam.ipynb").unlink()
    remote.push({"exam.ipynb": OLD}, "2026-01-02T00:00:00Z")
    for came in (CollectStatus.COLLECTED, CollectStatus.KEPT):
        outcome = collected(remote, out, BETWEEN)
        assert outcome.status is came
        assert "may be backdated" in outcome.text
    # With more time than that, there is nothing to doubt.
    later = parse_instant("2999-01-01T00:00:00Z")
    assert "backdated" not in collected(remote, out, later).text


def test_names_of_files_are_no_commands_to_a_runner(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    remote = Remote(tmp_path / "clones", "ada")
    remote.push({"##[error]no.ipynb": OLD})
    (tmp_path / "roster.csv").write_text("id,repository\nada," + remote.url + "\n")
    with pytest.raises(SystemExit):
        main(["classroom", "collect", str(tmp_path / "roster.csv"), "--out", str(tmp_path / "out")])
    said = capsys.readouterr().out
    assert "[error]no.ipynb" in said
    assert "##[" not in said


def test_a_link_is_refused(tmp_path: Path) -> None:
    remote = Remote(tmp_path, "ada")
    (remote.work / "exam.ipynb").symlink_to("/etc/passwd")
    remote.push()
    outcome = collected(remote, tmp_path / "out")
    assert outcome.status is CollectStatus.FAILED
    assert "symbolic link" in outcome.text
    assert not (tmp_path / "out" / "ada.ipynb").exists()


def test_a_submodule_is_not_fetched(tmp_path: Path) -> None:
    other, remote = Remote(tmp_path, "other"), Remote(tmp_path, "ada")
    commit = other.push({"exam.ipynb": OLD})
    remote.write({".gitmodules": f'[submodule "x"]\n\tpath = exam.ipynb\n\turl = {other.url}\n'})
    git("add", ".gitmodules", cwd=remote.work)
    git("update-index", "--add", "--cacheinfo", f"160000,{commit},exam.ipynb", cwd=remote.work)
    git("commit", "--quiet", "-m", "sub", cwd=remote.work)
    git("push", "--quiet", remote.url, "main", cwd=remote.work)
    assert "submodule" in collected(remote, tmp_path / "out").text


def test_git_lfs_is_said_not_read(tmp_path: Path) -> None:
    remote = Remote(tmp_path, "ada")
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 12\n"
    remote.push({"exam.ipynb": pointer, ".gitattributes": "*.ipynb filter=lfs\n"})
    assert "Git LFS" in collected(remote, tmp_path / "out").text


@pytest.mark.thorough
def test_which_notebook(tmp_path: Path) -> None:
    remote = Remote(tmp_path, "ada")
    remote.push({"a.ipynb": OLD, "b.ipynb": NEW, "deep/ada.ipynb": NEW})
    outcome = collected(remote, tmp_path / "out")
    assert outcome.status is CollectStatus.FAILED
    assert "a.ipynb, b.ipynb" in outcome.text
    assert collected(remote, tmp_path / "b", notebook="b.ipynb").status is CollectStatus.COLLECTED
    assert (
        collected(remote, tmp_path / "c", notebook="deep/{id}.ipynb").status
        is CollectStatus.COLLECTED
    )
    assert "no file 'z.ipynb'" in collected(remote, tmp_path / "d", notebook="z.ipynb").text
    remote.push({"ada.ipynb": OLD})
    assert "ada.ipynb" in collected(remote, tmp_path / "e").text


@pytest.mark.thorough
def test_of_several_notebooks_the_release_s_is_collected(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a_bank(tmp_path / "bank")
    bank = ("--bank", tmp_path / "bank")
    ok("render", "quiz", "--roster", a_roster(tmp_path), "--out", tmp_path / "release", *bank)
    capsys.readouterr()
    release = load_release(tmp_path / "release")
    made = Notebooks(release, Bank.open((str(tmp_path / "bank"),)))
    own, other = (made.of(release.students[name]) for name in ("ada", "bo"))
    remote = Remote(tmp_path / "clones", "ada")
    remote.push({"exam.ipynb": own, "friend.ipynb": other, "notes.ipynb": OLD, "bad.ipynb": "{"})
    fit = fit_rule(tmp_path / "release")
    assert collected(remote, tmp_path / "one", fit=fit).status is CollectStatus.COLLECTED
    assert (tmp_path / "one" / "ada.ipynb").read_bytes() == own
    roster = tmp_path / "roster.csv"
    roster.write_text(f"id,repository\nada,{remote.url}\n")
    command = ["classroom", "collect", str(roster), "--out", str(tmp_path / "two")]
    with pytest.raises(SystemExit) as ended:
        main(command)
    assert ended.value.code == 1
    said = capsys.readouterr().out
    assert "4 notebooks" in said
    with pytest.raises(SystemExit) as ended:
        main([*command, "--release", str(tmp_path / "release")])
    assert not ended.value.code
    assert (tmp_path / "two" / "ada.ipynb").read_bytes() == own
    # Where the release does not decide, nothing is guessed.
    remote.push({"copy.ipynb": own})
    assert "more than one belongs to the release" in collected(remote, tmp_path / "x", fit=fit).text
    git("rm", "--quiet", "exam.ipynb", "copy.ipynb", "friend.ipynb", cwd=remote.work)
    remote.push()
    assert "none belongs to the release" in collected(remote, tmp_path / "y", fit=fit).text


@pytest.mark.thorough
def test_nothing_of_a_repository_runs(tmp_path: Path) -> None:
    """Hooks, filters, fsmonitor and aliases, in the repository and in the settings of its user."""
    remote = Remote(tmp_path, "ada")
    mark = tmp_path / "ran"
    shout = f"#!/bin/sh\ntouch {mark}\n"
    attributes = "*.ipynb filter=evil diff=evil\n"
    remote.push({"exam.ipynb": OLD, ".gitattributes": attributes, ".git-hook": shout})
    template = tmp_path / "template" / "hooks"
    template.mkdir(parents=True)
    for hook in ("post-checkout", "post-merge", "reference-transaction", "post-index-change"):
        (template / hook).write_text(shout)
        (template / hook).chmod(0o755)
    home = tmp_path / "home"
    home.mkdir()
    settings = f"[init]\n\ttemplateDir = {template.parent}\n"
    settings += f'[filter "evil"]\n\tsmudge = touch {mark}\n'
    settings += f"[core]\n\tfsmonitor = touch {mark}\n\thooksPath = {template}\n"
    (home / ".gitconfig").write_text(settings)
    environment = {**os.environ, "HOME": str(home), "GIT_TEMPLATE_DIR": str(template.parent)}
    roster = tmp_path / "roster.csv"
    roster.write_text(f"id,repository\nada,{remote.url}\n")
    command = [sys.executable, "-m", "grader", "classroom", "collect", str(roster), "--out"]
    done = subprocess.run([*command, str(tmp_path / "out")], env=environment, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "ada.ipynb").read_text() == OLD
    assert not mark.exists()


@pytest.mark.thorough
def test_too_much_is_not_fetched(tmp_path: Path) -> None:
    remote = Remote(tmp_path, "ada", filters=False)
    remote.push({"exam.ipynb": OLD, "film.bin": os.urandom(3_000_000)})
    outcome = collected(remote, tmp_path / "out", bounds=CommandLimits(bytes=1_000_000))
    assert outcome.status is CollectStatus.FAILED
    assert "larger than 1 MB" in outcome.text
    # Where the server can filter, only the notebook is fetched, and the rest does no harm.
    filtering = Remote(tmp_path, "bo")
    filtering.push({"exam.ipynb": OLD, "film.bin": os.urandom(3_000_000)})
    few = CommandLimits(bytes=1_000_000)
    assert collected(filtering, tmp_path / "out2", bounds=few).status is CollectStatus.COLLECTED


@pytest.mark.thorough
def test_a_server_that_never_answers_is_given_up(tmp_path: Path) -> None:
    import socket

    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/ada.git"
        out = tmp_path / "out"
        bounds = CommandLimits(seconds=1.0)
        slow = Repository(student="ada", url=url)
        (outcome,) = collect_repositories([slow], out, CollectOptions(bounds=bounds))
    assert outcome.status is CollectStatus.FAILED
    assert "longer than 1 s" in outcome.text


class _Recording(SimpleHTTPRequestHandler):
    seen: ClassVar[list[str | None]] = []

    def do_GET(self) -> None:
        self.seen.append(self.headers.get("Authorization"))
        self.send_error(404)

    def log_message(self, *_: object) -> None:
        pass


def test_the_token_goes_to_its_server_alone(tmp_path: Path) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Recording) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        here = f"http://127.0.0.1:{server.server_address[1]}"
        for known, told in ((here, True), ("https://github.com", False)):
            _Recording.seen.clear()
            how = CollectOptions(access=Credentials(token="s3cret-token", server=known))
            ada = Repository(student="ada", url=f"{here}/ada.git")
            (outcome,) = collect_repositories([ada], tmp_path / str(told), how)
            assert outcome.status is CollectStatus.FAILED
            assert "the repository does not exist" in outcome.text
            assert "s3cret" not in outcome.text
            assert any(_Recording.seen) is told
        server.shutdown()


@pytest.mark.parametrize(
    "text", ["ext::sh -c 'touch x'", "-u./evil", "javascript://x", "fd::3", "https://[x"]
)
def test_odd_addresses_are_refused(text: str) -> None:
    with pytest.raises(SetupError, match="not the address of a repository"):
        git_address(text)


def test_one_failure_does_not_stop_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("ada", "bo"):
        Remote(tmp_path, name).push({"exam.ipynb": OLD}, JANUARY)
    Remote(tmp_path, "eve")
    roster = tmp_path / "roster.csv"
    roster.write_text("id\nada\nmia\neve\nbo\n")
    url = (tmp_path / "server").as_uri() + "/{id}.git"
    arguments = [str(roster), "--out", str(tmp_path / "out"), "--url", url, "--json"]
    with pytest.raises(SystemExit) as stop:
        main(["classroom", "collect", *arguments])
    assert stop.value.code == 1
    told = json.loads(capsys.readouterr().out)["students"]
    assert {one["student"]: one["came"] for one in told} == {
        "ada": "collected", "mia": "failed", "eve": "nothing handed in", "bo": "collected",
    }  # fmt: skip


@pytest.mark.thorough
def test_an_internal_error_in_one_repository_does_not_stop_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = []
    for name in ("ada", "bo"):
        remote = Remote(tmp_path, name)
        remote.push({"exam.ipynb": OLD}, JANUARY)
        wanted.append(Repository(student=name, url=remote.url))

    def take(one: Any, *rest: Any) -> Any:
        if one.student == "ada":
            raise KeyError("ada")
        return fetch_notebook(one, *rest)

    monkeypatch.setattr(collecting, "fetch_notebook", take)
    ada, bo = collect_repositories(wanted, tmp_path / "out", CollectOptions())
    assert (ada.status, ada.text) == (CollectStatus.FAILED, "an internal error (KeyError)")
    assert bo.status is CollectStatus.COLLECTED


def test_a_folder_of_clones(tmp_path: Path) -> None:
    Remote(tmp_path, "ada").push({"exam.ipynb": OLD}, JANUARY)
    roster = tmp_path / "roster.csv"
    roster.write_text("id\nada\n")
    clones, out = str(tmp_path / "work" / "{id}"), tmp_path / "out"
    with pytest.raises(SystemExit) as stop:
        main(["classroom", "collect", str(roster), "--out", str(out), "--url", clones])
    assert stop.value.code == 0
    assert (out / "ada.ipynb").read_text() == OLD


def test_a_roster_says_where_and_until_when(tmp_path: Path) -> None:
    roster = tmp_path / "roster.csv"
    roster.write_text(
        "github_username,student_repository_url,due\nada,https://github.com/o/a,\n"
        "bo,,2026-12-02T00:00:00Z\n"
    )
    assert load_repositories(roster) == {
        "ada": {"repository": "https://github.com/o/a"},
        "bo": {"deadline": "2026-12-02T00:00:00Z"},
    }


def test_an_instant_without_a_zone_is_refused() -> None:
    with pytest.raises(SetupError, match="has no time zone"):
        parse_instant("2026-12-01T23:59:00")


# --- handing out and publishing


def send(remote: Remote, files: dict[str, bytes], **how: Any):
    sending = SendOptions(**{"branch": "main", "message": "out", "whole": False, **how})
    (sent,) = send_all([Repository(student="ada", url=remote.url)], lambda _: files, sending)
    return sent


@pytest.mark.thorough
def test_handing_out_adds_what_is_missing_and_changes_nothing(tmp_path: Path) -> None:
    remote = Remote(tmp_path, "ada")
    remote.push({"README.md": "mine", "src/deep/x.py": "x", ".github/workflows/check.yml": "y"})
    files = {"README.md": b"ours", ".github/workflows/check.yml": b"ours", "exam.ipynb": b"{}"}
    sent = send(remote, files)
    assert (sent.status, sent.text) == (SendStatus.SENT, "exam.ipynb to the branch main")
    names = git("ls-tree", "-r", "--name-only", "main", cwd=remote.bare).split()
    assert names == [".github/workflows/check.yml", "README.md", "exam.ipynb", "src/deep/x.py"]
    assert git("show", "main:README.md", cwd=remote.bare) == "mine"
    assert git("fsck", "--strict", cwd=remote.bare) == ""
    assert send(remote, files).status is SendStatus.SAME


def test_an_empty_repository_gets_everything(tmp_path: Path) -> None:
    remote = Remote(tmp_path, "ada")
    assert send(remote, {"a/b.txt": b"1", "exam.ipynb": b"{}"}).status is SendStatus.SENT
    assert git("rev-list", "--count", "main", cwd=remote.bare) == "1"
    assert git("show", "main:a/b.txt", cwd=remote.bare) == "1"


@pytest.mark.thorough
def test_feedback_is_a_branch_of_its_own_with_a_history(tmp_path: Path) -> None:
    remote = Remote(tmp_path, "ada")
    main_at = remote.push({"exam.ipynb": OLD})
    how = {"branch": "feedback", "whole": True}
    assert (
        send(remote, {"README.md": b"10 of 20", "old.html": b"x"}, **how).status is SendStatus.SENT
    )
    assert (
        send(remote, {"README.md": b"10 of 20", "old.html": b"x"}, **how).status is SendStatus.SAME
    )
    assert send(remote, {"README.md": b"12 of 20"}, **how).status is SendStatus.SENT
    assert git("ls-tree", "--name-only", "feedback", cwd=remote.bare) == "README.md"
    assert git("rev-list", "--count", "feedback", cwd=remote.bare) == "2"
    assert git("show", "-s", "--format=%ce", "feedback", cwd=remote.bare) == EMAIL
    assert git("rev-parse", "main", cwd=remote.bare) == main_at


@pytest.mark.thorough
def test_somebody_elses_branch_is_not_overwritten(tmp_path: Path) -> None:
    """GitHub Classroom and Classroom 50 use a branch of that name for their pull requests."""
    remote = Remote(tmp_path, "ada")
    theirs = remote.push({"exam.ipynb": OLD})
    git("push", "--quiet", remote.url, "HEAD:feedback", cwd=remote.work)
    sent = send(remote, {"README.md": b"x"}, branch="feedback", whole=True)
    assert sent.status is SendStatus.FAILED
    assert "did not create it" in sent.text
    assert git("rev-parse", "feedback", cwd=remote.bare) == theirs
    assert send(remote, {"README.md": b"x"}, branch="grades", whole=True).status is SendStatus.SENT


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["link", "dangling link", "folder", "file"])
def test_a_result_takes_the_place_of_whatever_a_student_put_there(
    tmp_path: Path, kind: str
) -> None:
    """On the branch that holds it; what a link leads to is never written."""
    remote = Remote(tmp_path, "ada")
    remote.push({"exam.ipynb": OLD, "README.md": "mine"})
    how = {"branch": "feedback", "whole": True, "message": "Feedback on Midterm\n"}
    files = {"README.md": b"10 of 20", "result.json": b"{}"}
    first = send(remote, files, **how)
    git("fetch", "--quiet", remote.url, "feedback", cwd=remote.work)
    git("checkout", "--quiet", "FETCH_HEAD", cwd=remote.work)
    place, aim = remote.work / "result.json", tmp_path / "aim"
    place.unlink()
    aim.write_text("aim")
    if kind == "link":
        place.symlink_to(aim)
    elif kind == "dangling link":
        place.symlink_to("/no/such/file")
    elif kind == "folder":
        place.mkdir()
        (place / "inside").write_text("x")
    else:
        place.write_text("forged")
    git("add", "--all", cwd=remote.work)
    git("commit", "--quiet", "--message=mine", cwd=remote.work)
    git("push", "--quiet", remote.url, "HEAD:feedback", cwd=remote.work)
    theirs = git("rev-parse", "HEAD", cwd=remote.work)
    sent = send(remote, {**files, "README.md": b"12 of 20"}, **how)
    assert sent.status is SendStatus.SENT, sent.text
    assert "replacing another user's commit" in sent.text
    listed = git("ls-tree", "-r", "feedback", cwd=remote.bare).splitlines()
    assert [line.split()[0] for line in listed] == ["100644", "100644"]
    assert git("show", "feedback:result.json", cwd=remote.bare) == "{}"
    assert aim.read_text() == "aim"
    # Nothing of a student's is lost, and main is as it was.
    history = git("rev-list", "feedback", cwd=remote.bare).split()
    assert history[1:] == [theirs, first.commit]
    assert git("show", "main:README.md", cwd=remote.bare) == "mine"


@pytest.mark.thorough
def test_a_branch_made_from_a_handout_is_not_our_feedback(tmp_path: Path) -> None:
    """What was handed out is committed by us as well, and GitHub Classroom branches off there."""
    remote = Remote(tmp_path, "ada")
    send(remote, {"exam.ipynb": b"{}"}, message="Hand out the exam\n")
    git("pull", "--quiet", remote.url, "main", cwd=remote.work)
    remote.push({"exam.ipynb": NEW})
    git("push", "--quiet", remote.url, "HEAD:feedback", cwd=remote.work)
    how = {"branch": "feedback", "whole": True, "message": "Feedback on Midterm\n"}
    assert send(remote, {"README.md": b"x"}, **how).status is SendStatus.FAILED


def test_a_branch_whose_name_ends_like_ours_is_another(tmp_path: Path) -> None:
    remote = Remote(tmp_path, "ada")
    remote.push({"exam.ipynb": OLD})
    git("push", "--quiet", remote.url, "HEAD:refs/heads/x/refs/heads/feedback", cwd=remote.work)
    assert (
        send(remote, {"README.md": b"x"}, branch="feedback", whole=True).status is SendStatus.SENT
    )


def test_a_hook_of_the_server_may_refuse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a server, reached by ssh: here a program of that name, which runs what it is told."""
    remote = Remote(tmp_path, "ada403")
    hook = remote.bare / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho protected branch >&2\nexit 1\n")
    hook.chmod(0o755)
    (tmp_path / "bin").mkdir()
    ssh = tmp_path / "bin" / "ssh"
    ssh.write_text('#!/bin/sh\nfor last; do :; done\nexec sh -c "$last"\n')
    ssh.chmod(0o755)
    monkeypatch.setenv("PATH", f"{ssh.parent}{os.pathsep}{os.environ['PATH']}")
    there = Repository(student="ada", url=f"ssh://git@example.edu{remote.bare}")
    sending = SendOptions(branch="main", message="out", whole=False)
    (sent,) = send_all([there], lambda _: {"exam.ipynb": b"{}"}, sending)
    assert sent.status is SendStatus.FAILED
    assert "protected branch" in sent.text
    # Its name has the number that servers send to those whom they don't let in.
    assert "access is denied" not in sent.text


class Trapped:
    """A clone on this disk whose settings, hooks and attributes each leave a mark when they run."""

    def __init__(self, folder: Path):
        self.marks = folder / "marks"
        self.marks.mkdir()
        self.remote = Remote(folder, "ada")
        self.remote.push({"exam.ipynb": OLD, ".gitattributes": "* filter=evil diff=evil\n"})
        self.work = self.remote.work
        hooks = self.work / "planted"
        hooks.mkdir()
        for name in (
            *("pre-receive", "update", "post-receive", "post-update"),
            *("reference-transaction", "push-to-checkout", "post-checkout", "post-index-change"),
            *("pre-auto-gc", "pre-push", "fsmonitor-watchman", "sendemail-validate"),
        ):
            (hooks / name).write_text(self._shout(f"hook-{name}"))
            (hooks / name).chmod(0o755)
        for name, text in {
            "core.hooksPath": str(hooks),
            "core.fsmonitor": self._run("fsmonitor"),
            "core.sshCommand": self._run("sshCommand"),
            "core.askPass": self._run("askPass"),
            "core.pager": self._run("pager"),
            "core.editor": self._run("editor"),
            "core.gitProxy": self._run("gitProxy"),
            "core.alternateRefsCommand": self._run("alternateRefsCommand"),
            "credential.helper": f"!{self._run('credential')}",
            "uploadpack.packObjectsHook": self._run("packObjectsHook"),
            "receive.denyCurrentBranch": "updateInstead",
            "gc.auto": "1",
            "gc.recentObjectsHook": self._run("recentObjects"),
            "filter.evil.smudge": self._run("smudge"),
            "filter.evil.clean": self._run("clean"),
            "diff.evil.textconv": self._run("textconv"),
            "diff.external": self._run("external"),
            "gpg.program": self._run("gpg"),
            "log.showSignature": "true",
            "alias.show": f"!{self._run('alias')}",
        }.items():
            git("config", name, text, cwd=self.work)

    def _run(self, name: str) -> str:
        script = self.marks.parent / f"evil-{name}"
        script.write_text(self._shout(name))
        script.chmod(0o755)
        return str(script)

    def _shout(self, name: str) -> str:
        return f"#!/bin/sh\ntouch '{self.marks}/{name}'\n"

    def borrow(self) -> None:
        """Objects of another repository, whose refs a program may be asked for."""
        other = Remote(self.marks.parent / "lender", "bo")
        other.push({"other.txt": "x"})
        (self.work / ".git/objects/info").mkdir(exist_ok=True)
        (self.work / ".git/objects/info/alternates").write_text(f"{other.bare}/objects\n")

    def forget(self) -> None:
        """What is missing is to be fetched, by a program that the settings name."""
        for name, text in {
            "extensions.partialClone": "origin",
            "core.repositoryFormatVersion": "1",
            "remote.origin.url": str(self.remote.bare),
            "remote.origin.promisor": "true",
            "remote.origin.uploadpack": self._run("lazy-fetch"),
            "protocol.file.allow": "always",
        }.items():
            git("config", name, text, cwd=self.work)

    @property
    def ran(self) -> list[str]:
        return sorted(p.name for p in self.marks.iterdir())


def in_the_clone(trap: Trapped, branch: str, **how: Any):
    sending = SendOptions(**{"branch": branch, "message": "x", "whole": False, **how})
    clone = Repository(student="ada", url=str(trap.work))
    (sent,) = send_all([clone], lambda _: {"README.md": b"x", "a/b.html": b"y"}, sending)
    return sent


@pytest.mark.thorough
def test_what_a_clone_on_this_disk_names_is_not_run(tmp_path: Path) -> None:
    trap = Trapped(tmp_path)
    # The traps are real: a push of anybody else's does run them.
    git("push", "--quiet", str(trap.work), "HEAD:refs/heads/other", cwd=trap.work)
    assert {"hook-pre-receive", "hook-post-receive"} <= set(trap.ran)
    for mark in trap.marks.iterdir():
        mark.unlink()
    trap.borrow()
    clone = Repository(student="ada", url=str(trap.work))
    (came,) = collect_repositories([clone], tmp_path / "out", CollectOptions())
    assert came.status is CollectStatus.COLLECTED
    assert trap.ran == []
    assert in_the_clone(trap, "feedback", whole=True).status is SendStatus.SENT
    assert in_the_clone(trap, "feedback", whole=True).status is SendStatus.SAME
    assert trap.ran == []
    assert (trap.work / ".git/refs/heads/feedback").exists()
    # What is checked out there stays as it is: files would come through its filters.
    sent = in_the_clone(trap, "main")
    assert sent.status is SendStatus.FAILED
    assert "checked out" in sent.text
    assert trap.ran == []


def test_what_a_clone_lacks_is_not_fetched_by_a_program_it_names(tmp_path: Path) -> None:
    from grader.integrations.github.autograding import commit_time

    trap = Trapped(tmp_path)
    commit = git("rev-parse", "HEAD", cwd=trap.work)
    blob = git("rev-parse", "HEAD:exam.ipynb", cwd=trap.work)
    trap.forget()
    assert commit_time(trap.work) == "2026-01-01T00:00:00+00:00"
    (trap.work / ".git/objects" / blob[:2] / blob[2:]).unlink()
    clone = Repository(student="ada", url=str(trap.work))
    (came,) = collect_repositories([clone], tmp_path / "out", CollectOptions())
    assert came.status is CollectStatus.FAILED
    (trap.work / ".git/objects" / commit[:2] / commit[2:]).unlink()
    assert commit_time(trap.work) != "2026-01-01T00:00:00+00:00"
    assert trap.ran == []


def test_git_leaves_nothing_behind(tmp_path: Path, short: Path) -> None:
    remote = Remote(tmp_path, "ada")
    remote.push({"exam.ipynb": OLD})
    collected(remote, tmp_path / "out")
    assert [p.name for p in short.iterdir() if p.name.startswith("grader-git-")] == []
    with scratch_git() as one, pytest.raises(GitError):
        one.run("no-such-command")
