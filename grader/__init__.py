"""An automated grader for machine-learning-systems exam problems."""

__version__ = "0.1.0"
