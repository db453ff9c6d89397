"""A set rendered for a roster: the private file that pins it, shared versions, and sealed packs."""
