"""From evidence to grades: scoring, totals, what students may see, and the run over a
class."""
