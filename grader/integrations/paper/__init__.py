"""Exams on paper: prints versions and keys, and scores answers that were typed in."""
