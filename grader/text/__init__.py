"""Text for output: Markdown and formulas, spreadsheet cells, and escaped student text."""
