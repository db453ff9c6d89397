"""Answers of every form that students write, for what must read them all alike."""

from __future__ import annotations

import random
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from grader.units.table import SYMBOLS

UNITS = (
    *SYMBOLS, "b ", "GPU hours", "watt hours", "kW h", "k tokens", "TFLOPS", "Tflops",
    "teraflops", "mflop", "GFLOPs", "OPS", "TOPs", "Gbps", "GBps", "Gibps", "xps", "bananas",
    "gb", "Gigabytes", "GIGABYTES", "s^2", "s^-1", "s^5", "s^x", "1", "", "GB/", "/s", "1/s",
    "GB per second", "µs", "m s",
)  # fmt: skip
"""Names of units, and what may be taken for one."""
JOINED = (
    "GB/s", "GB / s", "GB per s", "GB s^-1", "GB*s^-1", "s^-1 GB", "GB s⁻¹", "GB·s⁻¹",
    "GB * s^-1", "GB*Hz", "1/s*GB", "GB/s/s*s", "MB/ms", "Gb/s", "GB/token", "GB*s", "GB/(s)",
    "GB//s", "GB/s^1", "GB^2/GB/s", "FLOP/s/W", "GFLOPS/W", "GFLOPs/J", "FLOP/J", "kFLOP/B",
    "FLOP/byte", "TFLOP/s", "token/s", "2.5k tokens/s", "tokens per second",
    "k tokens per second", "USD/h", "$/GPU hour", "USD/Mtoken", "J/s", "W*h", "kW h", "J/GB s",
    "samples / sec", "requests/s", "B/FLOP", "%/s",
)  # fmt: skip
"""Units that are made of several, in every way to write them."""
NUMBERS = (
    "28", " 28 ", "-28", "\u221228", "+ 3", ".5", "28.", "1_200", "1__2", "1,200", "1,20",
    "0,123", "12,5", "1 200", "1  200", "01 200", "12 34", "1.2.3", "1e9", "1e-9", "1e",
    "1.2 x 10^9", "1.2 × 10⁹", "10^9", "2^30", "2**10", "10^-3", "3/4", "3/0", "1/2/3", "2*14",
    "2 * 14", "2+3", "(3)", "7 billion", "7 Billions", "7 billionaires", "$12", "USD 12",
    "$ 1,200", "12 $", "~5", "about 5", "5 or so", "5-6", "5 - 6", "٣", "１２", "1²", "½", "∞",
    "nan", "inf", "None", "0x10", "1'000", "28..", "5!", "9" * 99, "9" * 101, "5 GB.", "50%",
    "3.2x", "3 times", "3x5", "\u00a05", "5\u202f000", "-", "...", "", " ", "1e400", "5%",
    "5 percent", "12 5/8", "1\n2", "12,5 GB", "28 bananas", "12 sequences", "98 ms", "5 us or so",
    "2 GB", "3 gb", "8 x", "5.0e+2GB",
)  # fmt: skip
"""Numbers as students write them, with and without a unit."""
WORDS = (
    "A", "b)", "Z", "(C)", " a ", "A.", "option B", "Answer: c", "the choice is d", "AB", "a, c",
    "C A B D", "A > B > C > D", "abcd", "A and B", "A→B→C→D", "DCBA", "ABCDE", "A,,B", ",",
    "none", "None of these.", "memory bandwidth", "1A 2B", "1: A, 2) b", "1A2B3C", "1C junk",
    "4A", "9A", "`B`", "**B**", "yes", "TRUE.", "nope", "f", "because", "it is so",
    "it is so\n...", "\n...\n", "…", "ﬁ", "x" * 500, "x" * 501,
)  # fmt: skip
"""Letters, words and sentences."""
PIECES = (
    "1", "2", "28", "000", "10", "0", ".", ",", "_", " ", "-", "+", "e", "x", "*", "/", "^", "**",
    "10^9", " per ", "GB", "s", "ms", "B", "FLOPS", "TFLOP", "tokens", "k", "GPU", "hours", "%",
    "$", "billion", "bps", "Hz", "W", "J", "h", "²", "⁻¹", "×", "−", "3", "(", ")", "'", "٣",
    ". ", "A", "b", "C", "D", ">", "and ", "option ", "answer: ", ":", "->", "none", "the ", "`",
    "\n", "of them", "is ",
)  # fmt: skip
"""What texts are made of that nobody thought of."""


def made_up(seed: int, count: int) -> list[str]:
    """Texts of pieces in any order; half of them begin with a number."""
    rng = random.Random(seed)
    heads = ("", "", "", "5", "1.5e3 ", "3/4 ")
    return [
        rng.choice(heads) + "".join(rng.choices(PIECES, k=rng.randint(1, 6))) for _ in range(count)
    ]


class Sized(int):
    """A number of the student's own class."""


def function(x: float) -> float:
    """An answer that is no value."""
    return x


VALUES: tuple[Any, ...] = (
    28, 28.0, -1, 0, 10**299, 10**300, -(10**300), True, False, None, ..., float("nan"),
    float("inf"), 2j, Fraction(1, 3), Decimal("2.5"), Decimal("nan"), Sized(3), b"28", object(),
    range(3), range(0), (), [], [1], [...], [..., "A"], ["A"], ["A", "A"], ["B", "a", "(D)", "c"],
    ("A", None), [None], ["A", 3], [["A"]], {"A"}, {"A", "B"}, frozenset("AB"), set(), {...}, {},
    {1: "A"}, {1: "A", 2: ...}, {"1": "A", "2": "B", "3": "C"}, {1.0: "A"}, {True: "A"}, {0: "A"},
    {1: "Z", 2: "A"}, {1: None}, {4: "A"}, ["none"], [""], ["A", ""], ["A", "B", "C"],
    ["A", "B", "C", "D", "E", "A", "B"], [[1, 2], [3, 4], [5, 6]], [[1, 2]],
    [[1, "x"], None, [True]], {2: [1, 2], 4: [1, 2], 8: [1, 2]},
    {2: [1, 2], 4.0: ["3 MB", "5 s"]}, {"2": [1]}, {16: 3}, {16: [3]}, {"16": "4"},
    {2: [1, 2, 3]}, {2: 1}, {3: [1, 2]}, {2: ...}, {2: [..., ""]}, {2: [None, 1]}, {2: {"a": 1}},
    {2: [[1], 2]}, {"1 GB": [5]}, {"1  gb": 5, "1.07374 GB": "5 kB"}, [1, 2, 3], [[]], "table",
    np.float32(28), np.float64("nan"), np.int8(3), np.uint64(3), np.bool_(True), np.complex64(1),
    np.str_("28 GB"), np.longdouble(3), np.timedelta64(3, "s"), np.array(28), np.array([28.0]),
    np.array(["A", "B"]), np.array([]), np.array([["A"]]), np.ones((3, 2)), np.ones((3, 2), int),
    np.ones((4, 2)), np.float16(2), np.array(None), {np.int64(2): np.array([1.0, 2.0])},
    [np.float32(2), np.str_("A")], {2: (np.float32(1), np.array(2))},
)  # fmt: skip
"""What is no text."""
