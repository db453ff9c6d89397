"""The data exchanged between the grader and a kernel. Nothing here knows a key."""
