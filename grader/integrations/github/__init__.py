"""GitHub Actions, GitHub Classroom and Classroom 50: repositories, workflows and result formats."""
