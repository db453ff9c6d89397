"""Control groups: real processes that meet their limits, where this machine lets groups be made."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from grader.runtime.sandbox import cgroups
from grader.runtime.sandbox.cgroups import ControlGroup, GroupTree
from tests.helpers.notebooks import run

if sys.platform != "linux":
    pytest.skip("control groups are of Linux", allow_module_level=True)

MB = 2**20
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def tree() -> GroupTree:
    found = cgroups.find_tree()
    if isinstance(found, str):
        pytest.skip(found)
    return found


@pytest.fixture
def group(tree: GroupTree) -> Iterator[ControlGroup]:
    made = tree.make_group("test", memory_bytes=60 * MB, processes=12)
    assert made is not None
    yield made
    made.kill()
    assert made.remove()


def entering(group: ControlGroup, code: str) -> subprocess.Popen[str]:
    """A process that enters the group by itself, and then runs some code."""
    start = """
        import os, sys, time
        for path in sys.argv[1:]:
            with open(path, "w") as file:
                file.write("0")
        """
    return subprocess.Popen(
        [
            sys.executable,
            "-c",
            textwrap.dedent(start) + textwrap.dedent(code),
            *map(str, group.process_files()),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_it_says_whether_groups_can_be_made() -> None:
    assert cgroups.find_tree()


def test_too_much_memory_ends_the_process_and_is_named(group: ControlGroup) -> None:
    child = entering(group, "kept = [b'x' * (1 << 20) for _ in range(200)]; print('kept')")
    assert child.communicate(timeout=30) == ("", None)
    assert child.returncode == -signal.SIGKILL
    assert group.find_exceeded_limit() == "memory"


def test_memory_is_limited_for_all_processes_together(group: ControlGroup) -> None:
    child = entering(
        group,
        """
        for _ in range(4):
            if not os.fork():
                kept = [b'x' * (1 << 20) for _ in range(25)]
                time.sleep(60)
        print(os.waitstatus_to_exitcode(os.wait()[1]), flush=True)
        """,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == f"{-signal.SIGKILL}\n"
    assert group.find_exceeded_limit() == "memory"


def test_what_fits_hits_nothing(group: ControlGroup) -> None:
    child = entering(group, "kept = b'x' * (20 << 20); print('kept')")
    assert child.communicate(timeout=30) == ("kept\n", None)
    assert group.find_exceeded_limit() is None


def test_memory_that_the_machine_lacks_is_not_the_limit_of_the_group(tmp_path: Path) -> None:
    for version, files, hit in (
        (2, {"memory.events": "oom 0\noom_kill 1\n"}, "machine"),
        (2, {"memory.events": "oom 1\noom_kill 1\n"}, "memory"),
        (2, {"memory.events": "oom 3\noom_kill 0\n"}, None),
        (1, {"memory.oom_control": "oom_kill 1\n"} | in_use(20 * MB), "machine"),
        (1, {"memory.oom_control": "oom_kill 1\n"} | in_use(60 * MB), "memory"),
        (1, {"memory.oom_control": "oom_kill 0\n"} | in_use(60 * MB), None),
    ):
        for name, text in files.items():
            (tmp_path / name).write_text(text)
        assert ControlGroup(version, {"memory": tmp_path}).find_exceeded_limit() == hit, (
            version,
            files,
        )


def in_use(most: int) -> dict[str, str]:
    return {
        "memory.max_usage_in_bytes": f"{most}\n",
        "memory.limit_in_bytes": f"{60 * MB}\n",
    }


@pytest.mark.thorough
def test_many_processes_get_no_more_of_the_processors_than_one(tree: GroupTree) -> None:
    if "cpu" not in tree.folders:
        pytest.skip("no controller of processors here")
    many, one = (
        tree.make_group(name, memory_bytes=None, processes=None) for name in ("many", "one")
    )
    assert many is not None
    assert one is not None
    spin = f"os.sched_setaffinity(0, [{min(os.sched_getaffinity(0))}])\n"  # all on one processor
    fork = "for _ in range(20):\n    if not os.fork(): break\nprint(flush=True)\n"
    forever = "end = time.monotonic() + 60\nwhile time.monotonic() < end: pass\n"
    busy = entering(many, spin + fork + forever)
    try:
        assert busy.stdout is not None
        for _ in range(21):  # until all of them run
            busy.stdout.readline()
        before = used_by(many)
        alone = entering(one, f"{spin}while time.process_time() < 0.5: pass")
        assert alone.wait(60) == 0
        # One of 21 without groups, and as much as all the others with them.
        assert 0.5 / (used_by(many) - before) > 0.25
    finally:
        many.kill()
        one.kill()
        busy.communicate(timeout=10)
        assert many.remove()
        assert one.remove()


def used_by(group: ControlGroup) -> float:
    """Seconds of processor time that the processes in a group have had."""
    pids = (int(pid) for path in group.process_files() for pid in path.read_text().split())
    used = (int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) for pid in set(pids))
    return sum(used) / 1e9


def test_too_many_processes_are_refused_and_named(group: ControlGroup) -> None:
    if "pids" not in group.folders:
        pytest.skip("no controller of processes here")
    child = entering(
        group,
        """
        started = 0
        try:
            while True:
                if not os.fork():
                    time.sleep(60)
                    os._exit(0)
                started += 1
        except OSError as error:
            print(started, type(error).__name__)
        """,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "11 BlockingIOError\n"
    assert group.find_exceeded_limit() == "processes"


def test_a_notebook_that_ends_for_want_of_threads_is_told_the_limit(tree: GroupTree) -> None:
    if "pids" not in tree.folders:
        pytest.skip("no controller of processes here")
    starts = "import os, threading, time\nfor _ in range(60):\n"
    starts += "    try: threading.Thread(target=time.sleep, args=(9,), daemon=True).start()\n"
    starts += "    except RuntimeError: os.abort()"  # as OpenMP does
    evidence = run(starts, "q1_a = 1", asks="q1_a")
    assert evidence.answers["q1_a"].raw == {"t": "int", "v": "1"}
    said = "could not start more processes, and ended the kernel (SIGABRT)"
    assert evidence.cells[0].error == f"{said} (limit: 32 processes and threads)"


def test_a_process_can_be_put_in_and_is_ended_with_all_it_started(group: ControlGroup) -> None:
    code = "import subprocess; input(); [subprocess.Popen(['sleep', '60']).wait() for _ in '12']"
    child = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE)
    for path in group.process_files():
        path.write_text(str(child.pid))
    assert child.stdin is not None
    child.stdin.write(b"go\n")
    child.stdin.flush()
    wait_until(lambda: len(members(group)) == 2)
    group.kill()
    assert child.wait(timeout=10) == -signal.SIGKILL
    assert group.remove()
    assert not any(folder.exists() for folder in group.folders.values())


def test_processes_that_start_others_without_end_are_ended(group: ControlGroup) -> None:
    child = entering(
        group,
        """
        print("begun", flush=True)
        while True:
            try:
                if os.fork():
                    os._exit(0)  # its child goes on, under another number
                os.fork()
            except OSError:
                pass
        """,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "begun\n"
    time.sleep(0.1)
    group.kill()
    assert group.remove()
    assert members(group) == set()
    child.wait()


def test_it_is_not_removed_while_something_runs_in_it(group: ControlGroup) -> None:
    child = entering(group, "print('in', flush=True); time.sleep(60)")
    assert child.stdout is not None
    child.stdout.readline()
    assert not group.remove(0)
    assert members(group) == {child.pid}


def test_a_process_that_can_not_see_the_files_gets_them_open(group: ControlGroup) -> None:
    files = group.open_process_files()
    code = "import os, sys; [os.write(int(n), b'0') for n in sys.argv[1:]]; input()"
    child = subprocess.Popen(
        [sys.executable, "-c", code, *map(str, files)],
        pass_fds=files,
        stdin=subprocess.PIPE,
    )
    for file in files:
        os.close(file)
    wait_until(lambda: child.pid in members(group))
    assert child.poll() is None
    child.communicate(b"\n")


def test_names_stay_inside_the_tree(tree: GroupTree) -> None:
    first = tree.make_group("../../éa b", memory_bytes=None, processes=None)
    second = tree.make_group("../../éa b", memory_bytes=None, processes=None)
    assert first is not None
    assert second is not None
    for made in (first, second):
        for controller, folder in made.folders.items():
            assert folder.parent == tree.folders[controller]
            assert folder.is_dir()
    assert first.folders != second.folders
    assert first.remove()
    assert second.remove()


def test_what_can_not_be_made_is_none(tree: GroupTree, tmp_path: Path) -> None:
    assert tree.make_group("odd", memory_bytes=-5, processes=None) is None
    # In an ordinary folder no kernel takes a limit.
    plain = GroupTree(2, {"memory": tmp_path, "pids": tmp_path})
    assert plain.make_group("plain", memory_bytes=MB, processes=1) is None
    assert list(tmp_path.iterdir()) == []
    gone = GroupTree(1, {"memory": tmp_path / "gone"}).make_group(
        "gone", memory_bytes=MB, processes=1
    )
    assert gone is None


def test_a_group_that_is_gone_raises_nothing(tree: GroupTree) -> None:
    made = tree.make_group("brief", memory_bytes=MB, processes=1)
    assert made is not None
    assert made.remove()
    made.kill()
    assert made.remove()
    assert made.find_exceeded_limit() is None
    with pytest.raises(FileNotFoundError):
        made.open_process_files()


def test_what_a_killed_grader_left_is_swept(tree: GroupTree, group: ControlGroup) -> None:
    code = f"""
        import subprocess, sys
        sys.path.insert(0, {str(ROOT)!r})
        from pathlib import Path
        from grader.runtime.sandbox.cgroups import GroupTree
        names = {{name: Path(path) for name, path in {named(tree)!r}.items()}}
        tree = GroupTree({tree.version}, names)
        made = tree.make_group("left", memory_bytes=1 << 28, processes=9)
        child = subprocess.Popen(["sleep", "60"])
        for path in made.process_files(): path.write_text(str(child.pid))
        print(child.pid, *made.folders.values(), flush=True)
        sys.stdin.read()
        """
    grader = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert grader.stdout is not None
    pid, *folders = grader.stdout.readline().split()
    tree.remove_abandoned()  # nothing of it, since its grader lives
    assert Path(f"/proc/{pid}").exists()
    grader.kill()
    grader.wait()
    assert tree.remove_abandoned() >= 1
    assert not any(Path(folder).exists() for folder in folders)
    assert not Path(f"/proc/{pid}").exists() or "Z" in Path(f"/proc/{pid}/stat").read_text()
    assert all(folder.exists() for folder in group.folders.values())


def test_a_user_without_rights_has_none_and_is_told_why() -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can be another user")
    code = f"""
        import os, sys
        sys.path.insert(0, {str(ROOT)!r})
        from grader.runtime.sandbox import cgroups
        os.setgroups([]), os.setresgid(65534, 65534, 65534), os.setresuid(65534, 65534, 65534)
        print(cgroups.find_tree())
        """
    ended = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True
    )
    assert "GroupTree" not in ended.stdout
    assert "cgroup" in ended.stdout


def test_a_scope_of_its_own_is_divided(tree: GroupTree) -> None:
    # As systemd-run --scope makes one: the grader is in it, alone.
    if tree.version != 2 or os.geteuid() != 0:
        pytest.skip("only for root, in version 2")
    scope = tree.make_group("scope", memory_bytes=500 * MB, processes=None)
    assert scope is not None
    child = entering(
        scope,
        f"""
        sys.path.insert(0, {str(ROOT)!r})
        from grader.runtime.sandbox import cgroups
        print(cgroups.find_tree().folders["memory"])
        """,
    )
    assert child.communicate(timeout=30)[0].strip() == str(scope.folders["memory"])
    below = GroupTree(2, scope.folders)
    assert below.remove_abandoned() == 1  # where the grader had moved itself
    assert scope.remove()


def wait_until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


def members(group: ControlGroup) -> set[int]:
    return group._processes()


def named(tree: GroupTree) -> dict[str, str]:
    return {name: str(path) for name, path in tree.folders.items()}
