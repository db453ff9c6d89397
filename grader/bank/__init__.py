"""Problem banks: problems and sets from YAML, their coverage, schemas, and skeletons."""
