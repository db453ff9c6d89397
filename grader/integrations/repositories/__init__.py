"""Collecting submissions from students' git repositories, and publishing files to them."""
