"""Answers choices and matchings with all letters at once, as lists and as one text.

earns: nothing
"""

# %%
q1_fits = "A or B"
q2_start_methods = {n: ["A", "B", "C", "D"] for n in range(1, 6)}
