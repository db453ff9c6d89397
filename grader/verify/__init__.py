"""The gate: checks that a problem must pass before students see it."""

from grader.kinds.hidden.solutions import Given
from grader.verify.case import Finding
from grader.verify.gate import verify
from grader.verify.one_problem import Verified, verify_problem
