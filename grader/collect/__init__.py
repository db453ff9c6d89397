"""Submissions from a folder or zip: who sent each file, which one counts, and what was ignored."""

from grader.collect.entries import Notice as Notice
from grader.collect.submissions import BEST as BEST
from grader.collect.submissions import CollectedSubmissions as CollectedSubmissions
from grader.collect.submissions import ExamFit as ExamFit
from grader.collect.submissions import collect as collect
from grader.collect.submissions import load_submission as load_submission
from grader.collect.submissions import read_attempts as read_attempts
from grader.collect.submissions import unexamined_submission as unexamined_submission
