"""Analyzes a graded class whose students have different numbers.

`mining` finds expressions that explain the wrong answers of several students. `fairness` finds
numbers and questions that were harder than others, and `shared_answers` finds wrong answers that
fit another student's numbers.
"""
