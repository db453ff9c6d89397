"""Results and exams in the formats of other systems.

An exporter gets only what `reveal` lets through. It returns the content of its files, with a note
for everything that the format can't represent, and raises an error rather than drop points.
"""
