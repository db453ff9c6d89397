"""Problem banks: loads problems and sets from YAML; coverage, schema, and problem skeletons."""
