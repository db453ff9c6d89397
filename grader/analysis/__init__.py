"""Analyzes a graded class whose students have different numbers.

`mining` finds expressions that explain the wrong answers of several students.
"""
