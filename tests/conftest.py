"""Fixtures that most tests share."""
