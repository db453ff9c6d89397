"""What runs right of the wall, in the student's process: the standard library and no secret."""
