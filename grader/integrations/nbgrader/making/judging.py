"""Python code for hidden tests: the body of a function that returns the share earned.

It is generated from the neutral item forms, so kinds of answers need no code for it. The argument
*read* is always a Python expression for the student's answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from grader.model.item import AcceptedTexts, ChoiceOption, NumberItem, NumberRange

RULE_TEXTS: Mapping[str, str] = {
    "all-or-nothing": "all or nothing",
    "each-option": "every option counts",
    "net-correct": "each wrong letter cancels a right one",
    "longest-run": "the longest run in the right order counts",
    "pairs": "every pair in the right order counts",
}

_IN_RANGES = """\
for low, high, share, said in {ranges}:
    if low <= x <= high:
        if said:
            print(said)
        return share
return 0.0
"""


def number_code(read: str, ranges: Sequence[NumberRange]) -> str:
    """Code that gives the share of the first range that contains the number."""
    return f"x = {read}\n" + _IN_RANGES.format(ranges=_range_literals(ranges))


def _range_literals(ranges: Sequence[NumberRange]) -> str:
    found = [(r.low, r.high, r.share, r.feedback) for r in ranges]
    return repr(found)


def table_code(read: str, grid: Sequence[Sequence[NumberItem]], units: Mapping[str, float]) -> str:
    """Code that adds up the weighted shares of a table's cells."""
    rows = ",\n    ".join(
        "[" + ", ".join(f"({item.weight!r}, {_range_literals(item.ranges)})" for item in row) + "]"
        for row in grid
    )
    return f"""\
judges = [
    {rows},
]
total = 0.0
for row, judged in zip({read}, judges):
    for cell, (weight, ranges) in zip(exam_entries(row, range(len(judged))), judged):
        x = exam_number(cell, {units!r})
        if x is not None:
            shares = (share for low, high, share, _ in ranges if low <= x <= high)
            total += weight * next(shares, 0.0)
return min(total, 1.0)
"""


def choice_code(read: str, choices: Sequence[tuple[object, ChoiceOption]]) -> str:
    """Code that gives the share of the chosen option."""
    found = {label: (c.share, c.feedback) for label, c in choices if c.share or c.feedback}
    return f"""\
share, said = {found!r}.get({read}, (0.0, ""))
if said:
    print(said)
return share
"""


_RULES = {
    "all-or-nothing": "return float(chosen == right)\n",
    "each-option": "return 1 - len(chosen ^ right) / {count}\n",
    "net-correct": "if not right:\n    return float(not chosen)\n"
    "return max(0.0, (len(chosen & right) - len(chosen - right)) / len(right))\n",
    "longest-run": """\
longest = start = 0
for end in range(len(chosen)):
    for i in range(end - 1, start - 1, -1):
        if right.index(chosen[end]) < right.index(chosen[i]):
            start = i + 1
            break
    longest = max(longest, end + 1 - start)
return longest / len(chosen) if longest > 1 else 0.0
""",
    "pairs": """\
ranks = [right.index(x) for x in chosen]
rightly = [a < b for i, a in enumerate(ranks) for b in ranks[i + 1:]]
return sum(rightly) / len(rightly)
""",
}


def choices_code(read: str, right: Sequence[str], count: int, rule: str) -> str:
    """Code that scores a set of chosen options by *rule*."""
    head = f"chosen, right = set({read}), set({list(right)!r})\n"
    return head + _RULES[rule].format(count=count)


def order_code(read: str, right: Sequence[str], rule: str) -> str:
    """Code that scores an order by *rule*."""
    return f"chosen, right = {read}, {list(right)!r}\n" + _RULES[rule]


def pairs_code(read: str, right: Sequence[str], letters: str) -> str:
    """Code that gives the share of correct matches."""
    return f"""\
given = [exam_letter(one, {letters!r}) for one in {read}]
return sum(map(str.__eq__, {list(right)!r}, map(str, given))) / {len(right)}
"""


def text_code(read: str, words: Sequence[AcceptedTexts], *, exact: bool) -> str:
    """Code that gives the share of the first entry with the same text."""
    fold = "" if exact else ".casefold()"
    found = [
        (tuple(t if exact else t.casefold() for t in w.texts), w.share, w.feedback) for w in words
    ]
    return f"""\
written = {read}{fold}
for texts, share, said in {found!r}:
    if written in texts:
        if said:
            print(said)
        return share
return 0.0
"""
