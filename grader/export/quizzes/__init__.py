"""Sets as quizzes of other systems: Moodle XML, and QTI 1.2 as Canvas reads it."""

from grader.export.quizzes.moodle import moodle
from grader.export.quizzes.qti import qti

__all__ = ["moodle", "qti"]
