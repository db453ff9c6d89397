"""Searches everything that a student would get for what no student may get."""

from grader.security.leaks.records import Bounds, Finding
from grader.security.leaks.search import Searched, find_leaks, prepare, search_folder

__all__ = ["Bounds", "Finding", "Searched", "find_leaks", "prepare", "search_folder"]
