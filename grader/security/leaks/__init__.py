"""Searches everything that students would get for secrets."""

from grader.security.leaks.records import Leak, SearchLimits
from grader.security.leaks.search import SearchResult, find_leaks, prepare_search, search_folder
