"""The process of a cold kernel: started in its own session, and ended with its whole group."""

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
    """Starts the given command with the given environment and nothing inherited.

    Unlike jupyter_client's provisioner, it kills the whole process group even after the kernel
    itself has died, and does so without a grace period.
    """

    process: subprocess.Popen[bytes] | None = None

    @property
    def has_process(self) -> bool:
        """Whether there is a process that has not been reaped."""
        return self.process is not None

    async def pre_launch(self, **kwargs: Any) -> dict[str, Any]:
        """The command and its environment, unchanged."""
        manager: Any = self.parent
        self.connection_info = manager.get_connection_info()
        return kwargs

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> KernelConnectionInfo:
        """Starts the process as the leader of a session, and so of a process group."""
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
        """The exit status, without waiting; None while the process runs."""
        if self.process is None:
            return 0
        if self.process.returncode is not None or not hasattr(os, "waitid"):
            return self.process.poll()
        # Check without reaping: the dead leader keeps its process id, so that killing the group
        # by that id can't hit an unrelated one.
        dead = os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if dead is None:
            return None
        return dead.si_status if dead.si_code == os.CLD_EXITED else -dead.si_status

    async def wait(self) -> int | None:
        """Waits for the process, and returns its exit status."""
        while (status := await self.poll()) is None:
            await asyncio.sleep(_POLL_SECONDS)
        return status

    async def send_signal(self, signum: int) -> None:
        """Signals the whole process group; on systems without groups, the process."""
        if self.process is None:
            return
        # macOS refuses permission for a group with only dead processes.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(self.process.pid, signum)
            else:
                self.process.send_signal(signum)

    async def kill(self, restart: bool = False) -> None:
        """Kills the process group and reaps the process, whether the kernel is alive or not."""
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
        """Kills the process, as there is nothing to save."""
        await self.kill(restart)

    async def cleanup(self, restart: bool = False) -> None:
        """Does nothing, as there is nothing left to clean up."""
