"""The check that students run: which answers are there and readable, and its receipt."""
