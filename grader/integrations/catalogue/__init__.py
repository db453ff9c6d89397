"""The bank as a static site: an index to search, and pages for each problem and its solution."""
