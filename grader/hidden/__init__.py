"""Hidden cases: inputs and expected results for what students write, made from solution files.

All of this stays left of the wall. What crosses is the inputs alone.
"""

from grader.hidden.cases import Case, Hidden, hidden, run_here, watch_request
from grader.hidden.compare import Closeness, difference
from grader.hidden.doubts import undecidable
from grader.hidden.given import Given
from grader.hidden.promised import digest_of
from grader.hidden.rules import broken
from grader.hidden.values import Array, Opaque, read

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
