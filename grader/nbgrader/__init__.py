"""nbgrader's format: cell metadata, the regions it clears, what it overwrites, and its rule."""

from grader.nbgrader.config import Setting, parsed_json, parsed_python, understood
from grader.nbgrader.markers import TEXT_STUB, as_released, with_answers_cleared
from grader.nbgrader.metadata import checksum, grade_id, metadata, source_cell
from grader.nbgrader.overwriting import Overwritten, is_untouched, overwritten
from grader.nbgrader.rule import (
    ERROR,
    OUTPUTS,
    RESULT,
    STDERR,
    WRITTEN,
    UndecidedError,
    earned,
    outputs_in,
)

__all__ = [
    "ERROR",
    "OUTPUTS",
    "RESULT",
    "STDERR",
    "TEXT_STUB",
    "WRITTEN",
    "Overwritten",
    "Setting",
    "UndecidedError",
    "as_released",
    "checksum",
    "earned",
    "grade_id",
    "is_untouched",
    "metadata",
    "outputs_in",
    "overwritten",
    "parsed_json",
    "parsed_python",
    "source_cell",
    "understood",
    "with_answers_cleared",
]
