"""Hidden cases: inputs and expected results for students' code, made from solution files.

Only the inputs enter the student's process.
"""

from grader.kinds.hidden.cases import Case, Hidden, hidden, run_here, watch_request
from grader.kinds.hidden.compare import Closeness, difference
from grader.kinds.hidden.doubts import undecidable
from grader.kinds.hidden.given import Given
from grader.kinds.hidden.promised import digest_of
from grader.kinds.hidden.rules import broken
from grader.wire.values import Array, Opaque, read

__all__ = [
    "Array",
    "Case",
    "Closeness",
    "Given",
    "Hidden",
    "Opaque",
    "broken",
    "difference",
    "digest_of",
    "hidden",
    "read",
    "run_here",
    "undecidable",
    "watch_request",
]
