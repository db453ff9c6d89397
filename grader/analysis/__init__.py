"""What a graded class shows because every student has other numbers.

`mining` finds expressions that explain wrong answers of many students.
"""
