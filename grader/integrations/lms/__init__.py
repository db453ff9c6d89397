"""Canvas and Moodle: gradebooks in both directions, and sets as quizzes."""
