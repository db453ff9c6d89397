"""Exports a set as a quiz of another system."""
