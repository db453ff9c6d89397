"""The store of students, submissions, evidence, grades, overrides, and the audit log."""

from grader.gradebook.audit_log import AuditLine
from grader.gradebook.book import Gradebook
from grader.gradebook.changes import MarkChange, list_mark_changes
from grader.gradebook.evidence import evidence_from_json, evidence_to_json
from grader.gradebook.rows import FiledGrade
