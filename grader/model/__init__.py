"""The records that the stages exchange: frozen, plain data."""

from grader.model import packages
from grader.model.evidence import (
    Answer,
    Benchmark,
    Call,
    CallPlan,
    CellRun,
    Evidence,
    Job,
    Limits,
    Outcome,
    Raw,
    Submission,
)
from grader.model.grade import Grade, Judgment, Mark, Override, Verdict
from grader.model.paper import (
    SAMPLE,
    Draw,
    Facts,
    Key,
    Paper,
    Question,
    Release,
    Student,
    Variant,
)
from grader.model.spec import (
    FAMILIES,
    Blueprint,
    Carry,
    Edition,
    ExamSet,
    Expr,
    Figure,
    Level,
    Mistake,
    Parameter,
    Part,
    Problem,
    Scalar,
    Share,
    Slot,
    Text,
    Tolerance,
)
