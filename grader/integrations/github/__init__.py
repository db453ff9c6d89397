"""GitHub Actions, GitHub Classroom, Classroom 50: repositories, workflows, and result formats."""
