"""Fills in gradebooks that an instructor downloaded from another system."""
