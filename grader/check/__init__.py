"""The student's own check: which answers are there and readable, and the receipt of it."""
