"""Results and exams in the formats of other systems: a module each, pure functions of records.

An exporter gets what `reveal` lets through, and returns the bytes of its files with a note for
everything that does not survive the format. It refuses rather than drop points silently.
"""
