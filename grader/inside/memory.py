"""Placeholder."""


def over(limit: int) -> bool:
    return False
