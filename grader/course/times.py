"""Dates and durations of a course file, in its time zone."""

from __future__ import annotations

import re
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from grader.text.words import count_of, points

_DURATION = re.compile(r"(\d+(?:\.\d+)?) ?(s|min|h|hours?|d|days?)\Z")
_SECONDS = {"s": 1, "min": 60, "h": 3600, "hour": 3600, "hours": 3600, "d": 86400, "day": 86400}
_LAST = time(23, 59, 59)
_TIME = re.compile(
    r"\d{4}-\d\d-\d\d"
    r"(?P<clock>[T ]\d\d:\d\d(?P<seconds>:\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d(?::?\d\d)?)?)?"
)

TIME_FIX = "write 2026-10-05 23:59, or 2026-10-05 for the end of that day"
DURATION_FIX = "write a number and s, min, h, or days, such as 15 min"


class TimeError(ValueError):
    """A time or a duration that can't be read; the message says why."""


def find_zone(name: str) -> ZoneInfo:
    """Returns the time zone called *name* in the IANA database. Raises TimeError."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise TimeError(f"there is no time zone '{name}'") from None


def parse_time(text: str, zone: ZoneInfo, *, opening: bool = False) -> datetime:
    """Returns the instant that *text* names, in UTC.

    Without an offset, *text* is local time in *zone*. A deadline without seconds includes its
    minute, and one without a time its day; if *opening*, they begin the minute and the day. A local
    time that occurs twice, when clocks are set back, means the second occurrence, or the first if
    *opening*, so that a doubt favors the student. Raises TimeError, also for a local time that is
    skipped when clocks are set forward.

    >>> parse_time("2026-10-05 23:59", ZoneInfo("America/New_York")).isoformat()
    '2026-10-06T03:59:59+00:00'
    """
    date = text.removesuffix(" 24:00")
    written = _TIME.fullmatch(text if date == text else f"{date} 00:00")
    if written is None:  # `fromisoformat` would read 20261005 as midnight
        raise TimeError(f"'{text}' is not a time")
    try:
        local = datetime.fromisoformat(date)
        if date != text:
            local += timedelta(days=1)
        elif not opening and not written["clock"]:
            local = datetime.combine(local, _LAST)
        elif not opening and not written["seconds"]:
            local += timedelta(seconds=59)
        if local.tzinfo is not None:
            return local.astimezone(UTC)
        local = local.replace(tzinfo=zone, fold=0 if opening else 1)
        instant = local.astimezone(UTC)
        exists = instant.astimezone(zone).replace(tzinfo=None) == local.replace(tzinfo=None)
    except ValueError:
        raise TimeError(f"'{text}' is not a time") from None
    except OverflowError:
        raise TimeError(f"'{text}' is too early or too late") from None
    if not exists:
        raise TimeError(f"{text} does not exist in {zone.key}, where clocks are set forward")
    return instant


def parse_duration(text: str) -> timedelta:
    """Returns the duration that *text* names. Raises TimeError.

    >>> parse_duration("15 min"), parse_duration("2 days")
    (datetime.timedelta(seconds=900), datetime.timedelta(days=2))
    """
    match = _DURATION.match(text)
    if match is None:
        raise TimeError(f"'{text}' is not a duration")
    return timedelta(seconds=float(match[1]) * _SECONDS[match[2].removesuffix("s") or "s"])


def local_text(instant: datetime, zone: ZoneInfo, *, exact: bool = False) -> str:
    """Returns *instant* as people in *zone* write it.

    The last second of a minute is written without seconds, since most deadlines end then, unless
    *exact* is true.

    >>> local_text(datetime(2026, 10, 6, 3, 59, 59, tzinfo=UTC), ZoneInfo("America/New_York"))
    'Oct 5, 2026, 23:59 EDT'
    """
    local = instant.astimezone(zone)
    clock = (
        f"{local:%H:%M}" if local.second in ((0,) if exact else (0, 59)) else f"{local:%H:%M:%S}"
    )
    return f"{local:%b} {local.day}, {local.year}, {clock} {local:%Z}"


def duration_text(span: timedelta) -> str:
    """Returns *span* in at most two units.

    >>> duration_text(timedelta(hours=26, minutes=4)), duration_text(timedelta(seconds=30))
    ('1 day 2 h', '30 s')
    """
    seconds = int(span.total_seconds())
    days, seconds = divmod(seconds, 86400)
    hours, seconds = divmod(seconds, 3600)
    minutes, seconds = divmod(seconds, 60)
    units = [
        (days, count_of(days, "day")),
        (hours, f"{points(hours)} h"),
        (minutes, f"{points(minutes)} min"),
        (seconds, f"{points(seconds)} s"),
    ]
    first = next((at for at, (amount, _) in enumerate(units) if amount), len(units) - 1)
    return " ".join(text for amount, text in units[first : first + 2] if amount) or "0 s"
