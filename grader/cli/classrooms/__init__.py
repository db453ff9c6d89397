"""A module for each command of `grader classroom`, with a `command` each."""
