"""Landlock: real processes that restrict themselves and then try what they must not do.

Each attempt runs in a process of its own, which prints what came of it: `done`, or the error. The
machine that runs the tests may have no Landlock, or an old one; then a test says so and is skipped.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

if sys.platform != "linux":
    pytest.skip("Landlock is for Linux", allow_module_level=True)

from grader.runtime.worker import landlock

ABI = landlock.abi_version()
SYSTEM = ("/usr", "/lib", "/lib64", "/bin")
REFUSED = {"EACCES", "EPERM"}
# Loaded before Landlock restricts the process, so that an attempt fails for nothing else.
IMPORTS = """
import ctypes, errno, fcntl, json, os, pathlib, shutil, signal, socket, subprocess, sys, termios
from grader.runtime.worker import landlock, syscalls
"""
ATTEMPTS = """
def attempt(what):
    try:
        value = eval(what, globals())
    except OSError as error:
        return errno.errorcode[error.errno]
    return "done" if value is None or isinstance(value, (int, bytes)) else value
print(json.dumps([attempt(what) for what in attempts]))
"""

needs_landlock = pytest.mark.skipif(not ABI, reason="there is no Landlock here")


def needs(version: int, what: str) -> pytest.MarkDecorator:
    """Skips a test where the kernel's Landlock is older than *version*."""
    reason = f"Landlock of this kernel (ABI {ABI}) cannot refuse {what}"
    return pytest.mark.skipif(version > ABI, reason=reason)


def behind(
    *attempts: str,
    read: Sequence[object] = (),
    write: Sequence[object] = (),
    devices: Sequence[object] = (),
    names: Sequence[object] = (),
    network: bool = False,
    setup: str = "",
) -> list[object]:
    """What comes of each expression in *attempts*, in one restricted process."""
    script = f"""{IMPORTS}
{setup}
attempts = {attempts!r}
landlock.restrict(read={texts(read)}, write={texts(write)}, devices={texts(devices)},
                  names={texts(names)}, network={network})
{ATTEMPTS}"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def texts(paths: Sequence[object]) -> list[str]:
    return [str(path) for path in paths]


def held(results: Sequence[object]) -> bool:
    return set(results) <= REFUSED


@pytest.fixture
def places(tmp_path: Path) -> Path:
    """A folder with `given`, `scratch` and `other` in it."""
    for name in ("given", "scratch", "other"):
        (tmp_path / name).mkdir()
    (tmp_path / "given" / "data").write_text("given")
    (tmp_path / "other" / "key").write_text("key")
    return tmp_path


@pytest.mark.skipif(ABI > 0, reason="this kernel has Landlock")
def test_without_landlock_it_says_why() -> None:
    with pytest.raises(OSError, match=r"landlock: this kernel has none"):
        landlock.restrict(read=["/"], write=[])


@needs_landlock
def test_what_may_be_read_is_read_run_and_listed(places: Path) -> None:
    given = places / "given"
    program = given / "run"
    program.write_text("#!/bin/sh\nexit 7\n")
    program.chmod(0o755)
    results = behind(
        f"open('{given}/data').read()",
        f"sorted(os.listdir('{given}'))",
        f"subprocess.call(['{program}'])",
        read=[given, *SYSTEM],
    )
    assert results == ["given", ["data", "run"], "done"]


@needs_landlock
def test_nothing_else_is_read_run_or_listed(places: Path) -> None:
    other = places / "other"
    program = other / "run"
    program.write_text("#!/bin/sh\nexit 0\n")
    program.chmod(0o755)
    results = behind(
        f"open('{other}/key').read()",
        f"os.listdir('{other}')",
        f"os.listdir('{places}')",
        f"open('{places}/given/../other/key').read()",
        f"subprocess.call(['{program}'])",
        "open('/etc/passwd').read()",
        f"open('/proc/{os.getpid()}/environ').read()",
        read=[places / "given", *SYSTEM],
        write=[places / "scratch"],
    )
    assert held(results)


@needs_landlock
def test_what_may_be_read_is_not_changed(places: Path) -> None:
    given = places / "given"
    results = behind(
        f"open('{given}/data', 'w')",
        f"open('{given}/data', 'a')",
        f"open('{given}/new', 'w')",
        f"os.mkdir('{given}/folder')",
        f"os.symlink('/', '{given}/link')",
        f"os.unlink('{given}/data')",
        f"os.rename('{given}/data', '{given}/renamed')",
        f"os.rename('{places}/scratch/mine', '{given}/mine')",
        f"os.rename('{given}/data', '{places}/scratch/data')",
        read=[given],
        write=[places / "scratch"],
        setup=f"open('{places}/scratch/mine', 'w').close()",
    )
    assert set(results) <= {*REFUSED, "EXDEV"}
    assert (given / "data").read_text() == "given"
    assert [path.name for path in given.iterdir()] == ["data"]


@needs(3, "cutting a file short")
def test_what_may_be_read_is_not_cut_short(places: Path) -> None:
    given, other = places / "given" / "data", places / "other" / "key"
    results = behind(
        f"os.truncate('{given}', 0)",
        f"os.open('{given}', os.O_RDONLY | os.O_TRUNC)",
        f"os.truncate('{other}', 0)",
        read=[given],
        write=[places / "scratch"],
    )
    assert held(results)
    assert (given.read_text(), other.read_text()) == ("given", "key")


@needs_landlock
def test_the_scratch_folder_works(places: Path) -> None:
    results = behind(
        "os.makedirs('a/b')",
        "os.write(os.open('a/file', os.O_CREAT | os.O_WRONLY | os.O_TRUNC), b'text')",
        "open('a/file').read()",
        "os.truncate('a/file', 2)",
        "os.symlink('file', 'a/link')",
        "open('a/link').read()",
        "os.mkfifo('a/pipe')",
        "socket.socket(socket.AF_UNIX).bind('a/socket')",
        "os.rename('a/link', 'a/renamed')",
        "os.listdir('a/b')",
        "shutil.rmtree('a')",
        "os.listdir('.')",
        write=[places / "scratch"],
        setup=f"os.chdir('{places}/scratch')",
    )
    done = "done"
    assert results == [done, done, "text", done, done, "te", done, done, done, [], done, []]


@needs(2, "or allow moving a file to another folder")
def test_files_move_between_folders_of_the_scratch_folder(places: Path) -> None:
    results = behind(
        "os.mkdir('a')",
        "open('file', 'w').close()",
        "os.rename('file', 'a/file')",
        "os.link('a/file', 'again')",
        write=[places / "scratch"],
        setup=f"os.chdir('{places}/scratch')",
    )
    assert results == ["done"] * 4


@needs_landlock
def test_a_program_made_in_the_scratch_folder_runs(places: Path) -> None:
    program = places / "scratch" / "run"
    results = behind(
        f"pathlib.Path('{program}').write_text('#!/bin/sh\\nexit 5\\n')",
        f"os.chmod('{program}', 0o755)",
        f"str(subprocess.call(['{program}']))",
        read=SYSTEM,
        write=[places / "scratch"],
    )
    assert results == ["done", "done", "5"]


@needs_landlock
def test_links_do_not_lead_out_of_the_scratch_folder(places: Path) -> None:
    scratch, key = places / "scratch", places / "other" / "key"
    results = behind(
        f"os.symlink('{key}', '{scratch}/link')",
        f"os.symlink('{places}', '{scratch}/folder')",
        f"open('{scratch}/link').read()",
        f"open('{scratch}/link', 'a')",
        f"open('{scratch}/folder/other/key').read()",
        f"os.link('{key}', '{scratch}/hard')",
        f"os.rename('{key}', '{scratch}/moved')",
        write=[scratch],
    )
    assert results[:2] == ["done", "done"]
    assert set(results[2:]) <= {*REFUSED, "EXDEV"}
    assert not (scratch / "hard").exists()
    assert key.read_text() == "key"


@needs_landlock
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make device nodes anywhere")
def test_device_nodes_are_not_made(places: Path) -> None:
    results = behind(
        "os.mknod('disk', 0o60600, os.makedev(7, 0))",
        "os.mknod('zero', 0o20600, os.makedev(1, 5))",
        write=[places / "scratch"],
        setup=f"os.chdir('{places}/scratch')",
    )
    assert held(results)


@needs_landlock
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount anything")
def test_nothing_is_mounted(places: Path) -> None:
    mount = "ctypes.CDLL(None, use_errno=True).mount(b'x', b'/', b'tmpfs', 0, None)"
    assert behind(f"str({mount}), ctypes.get_errno()", write=["/"]) == [["-1", 1]]


@needs_landlock
def test_single_files_and_paths_that_are_not_there(places: Path) -> None:
    results = behind(
        f"open('{places}/given/data').read()",
        f"pathlib.Path('{places}/scratch/log').write_text('text')",
        f"os.listdir('{places}/given')",
        f"os.unlink('{places}/scratch/log')",
        read=[places / "given" / "data", places / "missing", places / "given" / "data" / "x"],
        write=[places / "scratch" / "log"],
        setup=f"open('{places}/scratch/log', 'w').close()",
    )
    assert results == ["given", "done", "EACCES", "EACCES"]


@needs_landlock
def test_devices(places: Path) -> None:
    results = behind(
        "open('/dev/null', 'w').close()",
        "open('/dev/urandom', 'rb').read(4)",
        "open('/dev/zero', 'rb').read(4)",
        devices=["/dev/null", "/dev/urandom"],
    )
    assert results == ["done", "done", "EACCES"]


@needs(5, "the control of devices")
def test_devices_are_controlled_only_where_they_are_listed() -> None:
    control = "fcntl.ioctl(open('/dev/null'), termios.TCGETS, bytes(64))"
    # The device itself answers that it is no terminal.
    assert behind(control, devices=["/dev/null"]) == ["ENOTTY"]
    assert behind(control, write=["/dev/null"]) == ["EACCES"]


@needs_landlock
def test_a_folder_of_names_only(places: Path) -> None:
    results = behind(
        f"os.listdir('{places}/given')",
        f"open('{places}/given/data').read()",
        names=[places / "given"],
    )
    assert results == [["data"], "EACCES"]


@needs(4, "TCP")
def test_tcp_is_refused() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        attempts = (
            f"socket.socket().connect(('127.0.0.1', {server.getsockname()[1]}))",
            "socket.socket().bind(('127.0.0.1', 0))",
        )
        assert held(behind(*attempts))
        assert behind(*attempts, network=True) == ["done", "done"]


@needs(10, "UDP")
def test_udp_is_refused() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        there = server.getsockname()
        attempts = (
            "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).bind(('127.0.0.1', 0))",
            f"socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'', {there})",
            f"bound.sendto(b'', {there})",
            f"bound.connect({there})",
        )
        # A socket that had its own address before is still not sent from.
        own = "bound = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); bound.bind(('', 0))"
        assert held(behind(*attempts, setup=own))
        assert behind(*attempts, setup=own, network=True) == ["done"] * 4


@pytest.mark.thorough
@needs(6, "signals")
def test_processes_outside_get_no_signals() -> None:
    with subprocess.Popen(["sleep", "100"]) as other:
        results = behind(
            f"os.kill({other.pid}, signal.SIGTERM)",
            f"os.kill({other.pid}, 0)",
            "os.kill(1, 0)",
            "os.kill(os.getpid(), 0)",
            "subprocess.Popen(['/bin/sleep', '100'], stdin=-3, stdout=-3, stderr=-3).kill()",
            read=SYSTEM,
            devices=["/dev/null"],
        )
        other.kill()
    assert other.returncode == -signal.SIGKILL
    assert held(results[:3])
    assert results[3:] == ["done", "done"]


@needs_landlock
def test_processes_outside_are_not_looked_into() -> None:
    # Root may look at what others have in memory by a capability that Landlock does not know.
    results = behind(
        f"open('/proc/{os.getpid()}/environ').read()",
        f"open('/proc/{os.getpid()}/mem', 'rb').read(1)",
        f"os.readlink('/proc/{os.getpid()}/fd/0')",
        f"os.listdir('/proc/{os.getpid()}/cwd/')",
        read=["/"],
        setup="syscalls.keep_capabilities()",
    )
    assert held(results)


@needs(6, "abstract sockets")
def test_abstract_sockets_outside_are_not_reached() -> None:
    name = f"\0landlock-{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(name)
        server.listen()
        results = behind(
            f"socket.socket(socket.AF_UNIX).connect({name!r})",
            f"(own := socket.socket(socket.AF_UNIX)).bind({name + 'x'!r})",
            "own.listen()",
            f"socket.socket(socket.AF_UNIX).connect({name + 'x'!r})",
        )
    assert held(results[:1])
    assert results[1:] == ["done", "done", "done"]


@needs(9, "sockets that lie in the file system")
def test_sockets_of_others_are_not_reached(places: Path) -> None:
    path = places / "scratch" / "socket"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        connect = f"socket.socket(socket.AF_UNIX).connect('{path}')"
        assert held(behind(connect, write=[places / "scratch"]))


@needs_landlock
def test_a_socket_that_is_bound_inside_is_reached_from_outside(places: Path) -> None:
    path = places / "scratch" / "wire"
    heard = []

    def call() -> None:
        for _ in range(3000):
            if path.exists():
                break
            time.sleep(0.01)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as client:
            client.connect(str(path))
            client.send(b"hello")
            heard.append(True)

    caller = threading.Thread(target=call, daemon=True)
    caller.start()
    results = behind(
        "(own := socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)).settimeout(30)",
        f"own.bind('{path}')",
        "own.recv(10).decode()",
        write=[places / "scratch"],
    )
    assert results == ["done", "done", "hello"]
    caller.join(30)
    assert heard


@needs_landlock
def test_children_inherit_it_and_nobody_widens_it(places: Path) -> None:
    key = places / "other" / "key"
    results = behind(
        f"str(subprocess.call(['/bin/cat', '{key}'], stderr=subprocess.DEVNULL))",
        "str(subprocess.call(['/bin/cat', '/usr/bin/env'], stdout=subprocess.DEVNULL))",
        "landlock.restrict(read=['/'], write=['/'])",
        f"open('{key}').read()",
        read=SYSTEM,
        devices=["/dev/null"],
    )
    assert results == ["1", "0", "done", "EACCES"]


@needs_landlock
def test_programs_give_no_new_privileges(places: Path) -> None:
    # 39 asks prctl for the setting.
    assert behind("str(ctypes.CDLL(None).prctl(39, 0, 0, 0, 0))") == ["1"]


@needs_landlock
def test_a_folder_with_a_hole(places: Path) -> None:
    site = places / "site"
    for name in ("numpy", "grader", "torch/lib"):
        (site / name).mkdir(parents=True)
        (site / name / "module.py").write_text("value = 1\n")
    (site / "alias").symlink_to("grader")
    results = behind(
        f"open('{site}/numpy/module.py').read()",
        f"open('{site}/torch/lib/module.py').read()",
        f"len(os.listdir('{site}'))",
        f"open('{site}/grader/module.py').read()",
        f"open('{site}/alias/module.py').read()",
        read=landlock.list_allowed_paths(str(site), [str(site / "grader")]),
        names=[site],
    )
    assert results == ["value = 1\n", "value = 1\n", "done", "EACCES", "EACCES"]


def tree(root: Path) -> Path:
    for name in ("a/b/c", "a/d", "e"):
        (root / name).mkdir(parents=True)
    (root / "a" / "file").touch()
    return root


def found(root: Path, *holes: str) -> list[str]:
    paths = landlock.list_allowed_paths(str(root), [str(root / hole) for hole in holes])
    return [os.path.relpath(path, root) for path in paths]


def test_below_lists_the_children_around_a_hole(tmp_path: Path) -> None:
    tree(tmp_path)
    assert found(tmp_path) == ["."]
    assert found(tmp_path, "e") == ["a"]
    assert found(tmp_path, "a/b/c") == ["a/d", "a/file", "e"]
    assert found(tmp_path, "a/file", "e") == ["a/b", "a/d"]


def test_below_is_all_or_nothing_where_the_hole_is_elsewhere_or_around(tmp_path: Path) -> None:
    tree(tmp_path)
    assert found(tmp_path / "a", "../e") == ["."]
    assert found(tmp_path / "a", "..") == []
    assert found(tmp_path, ".") == []
    # The name of the hole is no start of another name.
    (tmp_path / "ee").mkdir()
    assert found(tmp_path, "e") == ["a", "ee"]


def test_below_follows_no_link(tmp_path: Path) -> None:
    tree(tmp_path / "real")
    (tmp_path / "real" / "hole").symlink_to("a")
    (tmp_path / "real" / "up").symlink_to("..")
    (tmp_path / "link").symlink_to("real")
    # A hole named by a link is what the link leads to; a folder named by one likewise.
    assert found(tmp_path / "real", "hole") == ["e"]
    paths = landlock.list_allowed_paths(str(tmp_path / "link"), [str(tmp_path / "real" / "a")])
    assert paths == [str(tmp_path / "real" / "e")]


def test_below_of_what_is_not_there_allows_nothing_around_a_hole(tmp_path: Path) -> None:
    assert found(tmp_path / "missing", "hole") == []
