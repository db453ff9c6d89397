"""Students' git repositories: collecting submissions from them and publishing files to them."""
