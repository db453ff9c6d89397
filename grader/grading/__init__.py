"""Turns evidence into grades: scoring, totals, what each audience may see, and the run over a
class."""
