"""Gradescope: building the autograder zip, and grading in Gradescope's container."""
