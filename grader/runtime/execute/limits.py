"""Names the limit behind an error message, for the student."""

from __future__ import annotations

from collections.abc import Mapping

from grader.model import Limits


def limit_phrases(
    limits: Limits, rlimits: Mapping[str, int], *, bounded: bool
) -> Mapping[str, str]:
    """Maps fragments of error messages to the limit that causes them.

    *bounded* says whether the total size of all files is limited; if it is not, a full disk is
    not the student's doing.
    """
    phrases = {}
    if bounded:
        text = f"limit: {_format_size(limits.scratch_bytes)} for all files"
        phrases["No space left on device"] = phrases["wrote more files"] = text
    if "RLIMIT_FSIZE" in rlimits:
        size = _format_size(rlimits["RLIMIT_FSIZE"])
        phrases["File too large"] = f"limit: {size} per file"
    if "RLIMIT_NOFILE" in rlimits:
        most = rlimits["RLIMIT_NOFILE"]
        phrases["Too many open files"] = f"limit: {most} open files"
    text = f"limit: {limits.processes} processes and threads"
    phrases["started more processes"] = text
    if "RLIMIT_NPROC" in rlimits:
        phrases["Resource temporarily unavailable"] = phrases["can't start new thread"] = text
    return phrases


def _format_size(size: int) -> str:
    """Returns bytes in the unit in which the limit was probably set."""
    if size % 2**30 == 0:
        return f"{size / 2**30:g} GiB"
    return f"{size / 1e9:g} GB" if size >= 10**8 else f"{size / 1e6:g} MB"


def name_limit(error: str, known: Mapping[str, str]) -> str:
    """Returns *error*, followed by the limit behind it if there is one."""
    for text, limit in known.items():
        if text in error:
            return f"{error} ({limit})"
    return error
