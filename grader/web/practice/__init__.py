"""Practice: variants of a bank with instant verdicts, spaced by what was missed."""
