"""From evidence to grades: scoring, totals, what each audience sees, and the run over a class."""
