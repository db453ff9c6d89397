"""The data exchanged between the grader and a kernel. Standard library only, without any key."""
