"""Converts a course to JSON data, which a gradebook keeps, and back."""

from __future__ import annotations

import json
from dataclasses import asdict

from grader.bank.shape import adapter
from grader.model.course import Course


def course_to_plain(course: Course) -> dict[str, object]:
    """Returns *course* as JSON data."""
    return asdict(course)


def course_from_plain(data: object) -> Course:
    """Returns the course that `course_to_plain` converted to *data*."""
    course: Course = adapter(Course).validate_json(json.dumps(data), strict=True)
    return course
