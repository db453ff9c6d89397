"""Answers every item of a matching four times, under keys that only look different.

earns: nothing
"""

# %%
q2_start_methods = {
    key: letter for n in range(1, 6) for key, letter in zip((n, str(n), f" {n}", f"{n}."), "ABCD")
}
