"""Releases of a set for a roster: the private release file, shared versions, and sealed packs."""
