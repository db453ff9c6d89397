"""Assignments of nbgrader: graded here as they are, and made from our sets."""
