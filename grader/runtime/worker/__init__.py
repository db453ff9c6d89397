"""Code that runs in the student's process: standard library only, without secrets."""
