"""Hidden cases: inputs and expected results for students' code, made from solution files.

Only the inputs enter the student's process.
"""
