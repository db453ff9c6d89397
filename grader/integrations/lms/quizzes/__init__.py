"""Exports sets as quizzes: Moodle XML, and QTI 1.2 for Canvas."""

from grader.integrations.lms.quizzes.moodle import moodle
from grader.integrations.lms.quizzes.qti import qti

__all__ = ["moodle", "qti"]
