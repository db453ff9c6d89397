"""YAML, CSV and JSON that people keep, to the records of the model."""

from grader.load.bank import Bank, own_bank
from grader.load.exam import load_exam
from grader.load.names import parameter_names
from grader.load.numbers import load_numbers
from grader.load.problem import digest, load_problem
from grader.load.release import extended, load_release, new_release, release_bytes
from grader.load.roster import id_problem, load_roster
from grader.load.schema import json_schema

__all__ = [
    "Bank",
    "digest",
    "extended",
    "id_problem",
    "json_schema",
    "load_exam",
    "load_numbers",
    "load_problem",
    "load_release",
    "load_roster",
    "new_release",
    "own_bank",
    "parameter_names",
    "release_bytes",
]
