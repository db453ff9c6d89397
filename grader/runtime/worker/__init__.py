"""Code that runs in the student's process: it has no secrets, and needs only Jupyter's kernel."""
