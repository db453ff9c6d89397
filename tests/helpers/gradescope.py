"""Gradescope's files and containers for tests, checked by Gradescope's own description."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from grader.cli import main

TIERS = {"hidden", "after_due_date", "after_published", "visible"}


FORMATS = {"text", "html", "simple_format", "md", "ansi"}


FIELDS = {
    "score", "execution_time", "output", "output_format", "test_output_format",
    "test_name_format", "visibility", "stdout_visibility", "extra_data", "tests", "leaderboard",
}  # fmt: skip


TEST_FIELDS = {
    "score", "max_score", "status", "name", "name_format", "number", "output", "output_format",
    "tags", "visibility", "extra_data",
}  # fmt: skip


def checked(data: bytes) -> dict[str, Any]:
    """The document, after everything that Gradescope's description of it says."""
    assert b"\r" not in data
    document: dict[str, Any] = json.loads(data)
    assert set(document) <= FIELDS
    assert isinstance(document["score"], int | float)
    assert document["visibility"] in TIERS
    assert document["stdout_visibility"] in TIERS
    for test in document["tests"]:
        assert set(test) <= TEST_FIELDS
        assert test["visibility"] in TIERS
        assert test["output_format"] in FORMATS
        assert test["name_format"] in FORMATS
        assert test.get("status", "passed") in {"passed", "failed"}
        assert isinstance(test.get("tags", []), list)
        assert all(isinstance(test.get(k, 0), int | float) for k in ("score", "max_score"))
    return document


ROSTER = "id,name,email\nada,Ada,Ada@Uni.example\nbo,Bo,\n4711,Cy,\n"


CONTAINER = """\
import errno, os, sys
import pyseccomp as sc

calls = sc.SyscallFilter(sc.ALLOW)
calls.set_attr(sc.Attr.CTL_NNP, 0)
for name in ("unshare", "setns", "mount", "umount2", "pivot_root"):
    calls.add_rule(sc.ERRNO(errno.EPERM), name)
calls.add_rule(sc.ERRNO(errno.EPERM), "clone", sc.Arg(0, sc.MASKED_EQ, 0x10000000, 0x10000000))
for name in ("clone3", "landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self"):
    calls.add_rule(sc.ERRNO(errno.ENOSYS), name)
calls.load()
kept = "chown dac_override fowner fsetid kill setgid setuid setpcap net_raw sys_chroot setfcap"
bound = ",".join(["-all", *("+" + name for name in kept.split())])
os.execvp("setpriv", ["setpriv", "--bounding-set", bound, "--inh-caps", "-all", *sys.argv[1:]])
"""
"""What a container of a plain Docker leaves to root: no namespaces, no mounts, and no Landlock, as
on older kernels."""


def command(*arguments: str) -> None:
    with pytest.raises(SystemExit) as stop:
        main(list(arguments))
    assert stop.value.code == 0, arguments


def metadata(root: Path, *users: dict[str, Any], **changes: Any) -> None:
    data = {
        "id": 123456,
        "created_at": "2026-11-02T10:00:00.000000-08:00",
        "assignment": {"id": 1, "title": "Midterm", "total_points": "48.0", "group_size": None},
        "submission_method": "upload",
        "users": list(users) or [{"email": "ADA@uni.example", "id": 77, "name": "Ada"}],
        "previous_submissions": [],
        **changes,
    }
    (root / "submission_metadata.json").write_text(json.dumps(data))
