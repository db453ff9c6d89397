"""What protects an exam: the search for leaked keys, and the attacks that anyone can run."""
