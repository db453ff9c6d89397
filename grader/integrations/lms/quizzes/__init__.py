"""Sets as quizzes of other systems: Moodle XML, and QTI 1.2 as Canvas reads it."""

from grader.integrations.lms.quizzes.moodle import moodle
from grader.integrations.lms.quizzes.qti import qti

__all__ = ["moodle", "qti"]
