"""Code that runs in the student's process: without secrets, on the libraries of Jupyter's kernel."""
