"""Practice: a web application that asks variants, judges at once, and repeats what was missed."""
