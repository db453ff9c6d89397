"""Exams on paper: printed versions and keys, and the answers typed in afterwards."""
