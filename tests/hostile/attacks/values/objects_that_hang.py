"""Answers with numbers, texts and containers whose every method hangs.

earns: nothing
"""


# %%
def hang(*_):
    while True:
        pass


methods = "__repr__ __str__ __float__ __int__ __index__ __len__ __iter__ __eq__ __hash__ __bool__"
methods += " __getitem__ __contains__ __format__ __reduce__ keys items values encode bit_length"
body = dict.fromkeys(methods.split(), hang)
for name, base in zip(ANSWERS, (float, str, int, dict, list)):
    globals()[name] = type("Hanging", (base,), body)()
