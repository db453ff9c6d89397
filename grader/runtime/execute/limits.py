"""Which limit an error speaks of, in words for the student."""

from __future__ import annotations

from collections.abc import Mapping

from grader.model import Limits


def phrases(limits: Limits, rlimits: Mapping[str, int], *, bounded: bool) -> Mapping[str, str]:
    """What an error may say, and the limit that is then the reason.

    *bounded* says whether all files together have a limit of their own; without one a full disk
    is nobody's but ours.
    """
    found = {}
    if bounded:
        text = f"at most {_amount(limits.scratch_bytes)} of files may be written"
        found["No space left on device"] = found["wrote more files"] = text
    if "RLIMIT_FSIZE" in rlimits:
        size = _amount(rlimits["RLIMIT_FSIZE"])
        found["File too large"] = f"at most {size} may be written to one file"
    if "RLIMIT_NOFILE" in rlimits:
        most = rlimits["RLIMIT_NOFILE"]
        found["Too many open files"] = f"at most {most} files may be open at a time"
    text = f"at most {limits.processes} processes and threads may run at a time"
    found["started more processes"] = text
    if "RLIMIT_NPROC" in rlimits:
        found["Resource temporarily unavailable"] = found["can't start new thread"] = text
    return found


def _amount(size: int) -> str:
    """Bytes in the unit in which somebody will have set them."""
    if size % 2**30 == 0:
        return f"{size / 2**30:g} GiB"
    return f"{size / 1e9:g} GB" if size >= 10**8 else f"{size / 1e6:g} MB"


def named(error: str, known: Mapping[str, str]) -> str:
    """*error*, with the limit that it speaks of."""
    for text, limit in known.items():
        if text in error:
            return f"{error} ({limit})"
    return error
