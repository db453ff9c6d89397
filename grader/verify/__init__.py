"""The gate that a problem must pass before a student sees it."""

from grader.kinds.hidden.given import Given
from grader.verify.case import Finding
from grader.verify.gate import Verified, verify, verify_problem

__all__ = ["Finding", "Given", "Verified", "verify", "verify_problem"]
