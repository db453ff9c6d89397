"""Courses: dates, late policies, attempts, people, and exceptions.

`course.yaml` is read by `load`; `rules_for` finds what applies to one student; `deductions`
computes deductions. Nothing here knows a gradebook or a notebook.
"""

from grader.course.deductions import (
    Attempt,
    CountedAttempt,
    choose_attempt,
    count_attempts,
    due_time,
)
from grader.course.load import FILE, course_from_plain, find_course, load_course, named_course
from grader.course.rules import rules_for, set_dates
from grader.course.table import read_times
