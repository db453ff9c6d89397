"""Searches everything that students would get for secrets."""

from grader.security.leaks.records import Bounds, Finding
from grader.security.leaks.search import Searched, find_leaks, prepare, search_folder

__all__ = ["Bounds", "Finding", "Searched", "find_leaks", "prepare", "search_folder"]
