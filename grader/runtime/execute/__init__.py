"""Executes one submission: its cells, the calls of hidden cases, and measurements."""

from grader.runtime.execute.submission import execute as execute
