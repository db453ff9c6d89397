"""Gradescope from both sides: making its autograder, and being it."""
