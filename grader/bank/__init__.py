"""Problem banks: YAML to problems and sets, coverage, schema, and the skeleton of a problem."""
