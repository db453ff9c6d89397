"""nbgrader assignments: grades them as they are, and exports sets as assignments."""

VARIABLES = (("NBGRADER_EXECUTION", "autograde"),)
"""Environment variables of notebooks, as nbgrader sets them."""
