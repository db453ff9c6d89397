"""The process of a cold kernel: started in a session of its own, and ended with all its group."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
from typing import Any

from jupyter_client.connect import KernelConnectionInfo
from jupyter_client.provisioning.provisioner_base import KernelProvisionerBase

_POLL_SECONDS = 0.02


class ColdProvisioner(KernelProvisionerBase):
    """Starts the command it is given, with the environment it is given and nothing inherited.

    Unlike jupyter_client's own it kills the whole process group also after the kernel itself has
    died, and doesn't wait politely.
    """

    process: subprocess.Popen[bytes] | None = None

    @property
    def has_process(self) -> bool:
        """Whether there is one that has not been reaped."""
        return self.process is not None

    async def pre_launch(self, **kwargs: Any) -> dict[str, Any]:
        """The command and its environment, as they are."""
        manager: Any = self.parent
        self.connection_info = manager.get_connection_info()
        return kwargs

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> KernelConnectionInfo:
        """Starts the process, as the leader of a session and so of a process group."""
        self.process = subprocess.Popen(  # noqa: S603  # our own command, in the sandbox's words
            cmd,
            cwd=kwargs["cwd"],
            env=kwargs["env"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
        return self.connection_info

    async def poll(self) -> int | None:
        """None while the process runs; afterwards its exit status, negative for a signal."""
        return self.status

    @property
    def status(self) -> int | None:
        """The same without waiting for anything."""
        if self.process is None:
            return 0
        if self.process.returncode is not None or not hasattr(os, "waitid"):
            return self.process.poll()
        # Looking without reaping: the dead leader keeps its number, so that killing the group
        # by that number can't hit a stranger.
        dead = os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if dead is None:
            return None
        return dead.si_status if dead.si_code == os.CLD_EXITED else -dead.si_status

    async def wait(self) -> int | None:
        """The exit status, as soon as there is one."""
        while (status := await self.poll()) is None:
            await asyncio.sleep(_POLL_SECONDS)
        return status

    async def send_signal(self, signum: int) -> None:
        """To the whole process group; where there are none, to the process."""
        if self.process is None:
            return
        # macOS refuses permission for a group that has only dead processes.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(self.process.pid, signum)
            else:
                self.process.send_signal(signum)

    async def kill(self, restart: bool = False) -> None:
        """Kills and reaps, whether the kernel is alive or not."""
        del restart
        if self.process is None:
            return
        if hasattr(os, "killpg"):
            await self.send_signal(signal.SIGKILL)
        else:
            self.process.kill()
        self.process.wait()
        self.process = None

    async def terminate(self, restart: bool = False) -> None:
        """The same: there is nothing to save."""
        await self.kill(restart)

    async def cleanup(self, restart: bool = False) -> None:
        """Nothing is left to clean up."""
