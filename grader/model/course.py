"""A course: the dates and policies of its sets, its people, and exceptions for students."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Literal

from grader.errors import Location
from grader.model.spec import Share, Strict


@dataclass(frozen=True, slots=True, kw_only=True)
class LatePolicy(Strict):
    """What a late submission costs."""

    accept: bool = True
    """Whether late submissions count at all."""
    grace: str = "0 min"
    """How late a submission may be without a deduction, such as `15 min`."""
    deduct: Share = 0.0
    """The deduction per period or part of a period, as a share."""
    per: Literal["day", "hour"] = "day"
    """The period: a day or an hour."""
    of: Literal["maximum", "score"] = "maximum"
    """What the shares refer to: the maximum points, or the points that the student earned."""
    cap: Share = 1.0
    """The largest deduction, as a share."""
    floor: Share = 0.0
    """The share of the maximum points below which a deduction doesn't take a total."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptPolicy(Strict):
    """Which of a student's attempts count, and what further attempts cost."""

    count: Literal["newest", "in-time", "best", "mean"] = "newest"
    """`newest`; `in-time` (the newest that is not late, or else the newest); `best`, after
    deductions; or `mean` of all."""
    limit: int | None = None
    """How many attempts count, the first ones; no limit if omitted."""
    deduct: Share = 0.0
    """The deduction for each attempt after the first, as a share of the maximum points."""
    cap: Share = 1.0
    """The largest deduction for attempts, as a share of the maximum points."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GradingPlan(Strict):
    """How the staff divide manual grading, and what two people grade independently."""

    divide: Literal["evenly", "sections", "parts"] | None = None
    """`evenly`; by `sections`, as listed for the staff; or by `parts`. If omitted, answers are not
    divided."""
    graders: tuple[str, ...] = ()
    """The ids of the staff who grade; if omitted, all with the role `grader`."""
    parts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """For `divide: parts`: the ids of the graders by problem or by `PROBLEM/PART`."""
    double: Share = 0.0
    """The share of answers that two people grade independently."""
    double_parts: tuple[str, ...] = ()
    """Problems, or `PROBLEM/PART`, of which two people grade every answer independently."""
    tolerance: Share = 0.0
    """How much their points may differ, as a share of the part's points; the mean counts then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CourseSet(Strict):
    """The dates and policies of one set of the course."""

    opens: str | None = None
    """When students get it, such as `2026-10-05 09:00`, in the course's time zone."""
    due: str | None = None
    """When it is due; a date alone means the end of that day."""
    closes: str | None = None
    """After this, submissions don't count."""
    minutes: float | None = None
    """For a timed set: minutes from when the student got it."""
    late: LatePolicy | None = None
    """The late policy of this set; the course's if omitted."""
    attempts: AttemptPolicy | None = None
    """The policy for attempts of this set; the course's if omitted."""
    grading: GradingPlan | None = None
    """Who grades what in this set; as in the course if omitted."""
    slip_days: int | None = None
    """How many slip days this set may use; all that are left if omitted."""
    feedback: str | None = None
    """When students may see accepted answers and worked solutions; if omitted, when somebody
    releases them."""
    results: str | None = None
    """The results folder, relative to the course file; needed for slip days."""
    release: str | None = None
    """The release, relative to the course file; for `grader watch`."""
    submissions: str | None = None
    """The folder of submissions, relative to the course file; for `grader watch`."""
    shared_answers: bool | None = None
    """Whether instructors may list answers to another student's numbers; as for the course if
    omitted."""


class Role(StrEnum):
    """What a staff member may do."""

    INSTRUCTOR = "instructor"
    """Everything."""
    HEAD_GRADER = "head-grader"
    """What a grader does, undo what others decided, and read the audit log."""
    GRADER = "grader"
    """Grade, comment, and answer regrade requests."""
    OBSERVER = "observer"
    """Read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StaffMember(Strict):
    """A member of a course's staff, with a role and sections."""

    name: str = ""
    """The person's name."""
    role: Role = Role.GRADER
    """What the person may do."""
    sections: tuple[str, ...] = ()
    """The sections that the person grades; all if empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant(Strict):
    """An exception for one student or one section."""

    why: str
    """The reason."""
    by: str
    """Who granted it."""
    student: str | None = None
    """The student's id."""
    section: str | None = None
    """The section, instead of a student."""
    set: str | None = None
    """The set; all sets if omitted."""
    until: str | None = None
    """A later due date."""
    time: float | None = None
    """For a timed set: the factor on its minutes, such as 1.5."""
    attempts: int | None = None
    """Another limit on attempts."""
    exempt: bool = False
    """Whether the set doesn't count for the student."""
    received: str | None = None
    """When the student handed it in, according to the staff."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Course(Strict):
    """The content of `course.yaml`."""

    id: str
    """The id of the course."""
    title: str = ""
    """The title, for people."""
    time_zone: str = "UTC"
    """A name of the IANA database, such as `America/New_York`."""
    gradebook: str = ""
    """The database for the gradebooks of new results folders, such as
    `postgresql://host/grades`; each set gets a schema of its own. Without it, a gradebook is a file
    in its folder."""
    evidence: str = ""
    """The object store for the evidence of new results folders, such as `s3://bucket/course`; each
    set gets a prefix of its own. Without it, evidence is in the results folder."""
    anonymous: bool = False
    """Whether answers are graded without names."""
    file_dates: bool = False
    """Whether the dates of files and commits, which students can set, count as times of
    submission."""
    shared_answers: bool = False
    """Whether instructors may list answers to another student's numbers."""
    slip_days: int = 0
    """How many days in the whole course a student may be late without a deduction."""
    late: LatePolicy = field(default_factory=LatePolicy)
    """What late submissions cost, in sets that don't say otherwise."""
    attempts: AttemptPolicy = field(default_factory=AttemptPolicy)
    """Which attempts count, in sets that don't say otherwise."""
    grading: GradingPlan = field(default_factory=GradingPlan)
    """Who grades what, in sets that don't say otherwise."""
    sections: tuple[str, ...] = ()
    """The ids of the sections, as in the roster."""
    staff: Mapping[str, StaffMember] = field(default_factory=dict)
    """The staff by id."""
    sets: Mapping[str, CourseSet] = field(default_factory=dict)
    """Dates and policies by the id of the set."""
    grants: tuple[Grant, ...] = ()
    """The exceptions."""

    def grading_of(self, set_id: str) -> GradingPlan:
        """Returns who grades what in the set *set_id*."""
        mine = self.sets[set_id].grading if set_id in self.sets else None
        return mine or self.grading

    def graders_of(self, plan: GradingPlan) -> tuple[str, ...]:
        """Returns the ids of the people among whom *plan* divides answers."""
        usual = (id_ for id_, member in self.staff.items() if member.role is Role.GRADER)
        return plan.graders or tuple(usual)


class TimeSource(StrEnum):
    """Where the time of a submission comes from."""

    FORGE = "forge"
    """The push, as the forge recorded it."""
    PLATFORM = "platform"
    """The platform's download."""
    STAFF = "staff"
    """What a staff member says."""
    COMMIT = "commit"
    """The commit's own time, which a student can set."""
    FILE = "file"
    """The file's date, which a student can set."""


UNTRUSTED = (TimeSource.COMMIT, TimeSource.FILE)
"""Sources that a student can influence. They count only if the course says `file_dates: true`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeLine:
    """One line of a table of submission times."""

    where: Location
    student: str = ""
    """The student's id; empty if *people* tells who it is."""
    people: tuple[str, ...] = ()
    """How a platform names the student: ids, an e-mail address, a name."""
    file: str = ""
    """The file's path or name; empty for all files of the student."""
    received: datetime | None = None
    source: TimeSource = TimeSource.PLATFORM
    by: str = ""
    started: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HandedIn:
    """When a file was handed in, according to somebody whom its student can't influence."""

    student: str
    source: TimeSource
    sha256: str = ""
    """SHA-256 of the file; if empty, every file of the student that has no time of its own."""
    received: str | None = None
    """ISO 8601, UTC; None if only *started* is known."""
    by: str = ""
    """The staff member who handed it in for the student; empty if the student did."""
    started: str | None = None
    """For a timed set: when the student got it, ISO 8601, UTC."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The dates and policies that apply to one student in one set. Times are in UTC."""

    opens: datetime | None = None
    due: datetime | None = None
    closes: datetime | None = None
    minutes: float | None = None
    late: LatePolicy = field(default_factory=LatePolicy)
    attempts: AttemptPolicy = field(default_factory=AttemptPolicy)
    slip_days: int = 0
    """How many slip days the student may still use here."""
    exempt: bool = False
    received: datetime | None = None
    """The time of submission that a staff member stated."""
    notes: tuple[str, ...] = ()
    """The exceptions that apply, a sentence each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deduction:
    """What policies take from the total of an attempt."""

    points: float
    """Negative if they add more than they take."""
    why: str
    """The reason, one or more sentences."""
    late_seconds: float = 0.0
    """How long after the due date; 0 in time."""
    slip_days: int = 0
    """How many slip days it uses."""
    counts: bool = True
    """Whether the attempt counts at all."""
    curve: float = 0.0
    """The points that a curve adds, which `points` takes into account."""
