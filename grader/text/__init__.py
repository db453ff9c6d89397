"""Text for people: Markdown and formulas, spreadsheet cells, and escaping of students' text."""
