"""nbgrader assignments: grades them as they are, and exports sets as assignments."""
