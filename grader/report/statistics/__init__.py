"""Statistics of exams: difficulty, discrimination, and reliability, with their intervals.

Everything here is computed from plain numbers. Formulas and sources are in
`docs/explanation/statistics.md`.
"""
