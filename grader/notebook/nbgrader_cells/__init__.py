"""nbgrader's format: cell metadata, the regions it clears, what it overwrites, and its rule."""

from grader.notebook.nbgrader_cells.config import Setting, parsed_json, parsed_python, understood
from grader.notebook.nbgrader_cells.markers import TEXT_STUB, as_released, with_answers_cleared
from grader.notebook.nbgrader_cells.metadata import checksum, grade_id, metadata, source_cell
from grader.notebook.nbgrader_cells.overwriting import Overwritten, is_untouched, overwrite_cells
from grader.notebook.nbgrader_cells.rule import (
    ERROR,
    OUTPUTS,
    RESULT,
    STDERR,
    WRITTEN,
    UndecidedError,
    outputs_in,
    points_earned,
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
    "grade_id",
    "is_untouched",
    "metadata",
    "outputs_in",
    "overwrite_cells",
    "parsed_json",
    "parsed_python",
    "points_earned",
    "source_cell",
    "understood",
    "with_answers_cleared",
]
