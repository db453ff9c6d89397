"""Analyzes a graded class whose students have different numbers.

`mining` finds expressions that explain the wrong answers of several students, `fairness` numbers and
questions that were harder, and `shared_answers` wrong answers that fit another student's numbers.
"""
