"""Texts: placeholders filled in, LaTeX left alone, and nothing that could run away."""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from grader import units
from grader.expressions import TextError, fill, free_names
from grader.expressions.filters import FILTERS
from grader.units.quantity import Value

# Generous for a busy machine; what runs away would take minutes.
SOON = 2.0

SCOPE: dict[str, Value] = {
    "billions": 7.0,
    "gpus": 4,
    "share": 0.25,
    "count": 1_200_000,
    "state": 112e9 * units.named_units()["byte"],  # type: ignore[operator]
    "memory": units.quantity(80, "GiB"),
    "link": "NVLink",
    "sharded": True,
    "zero": 0,
}
FACTS = {"h100-sxm": {"memory_bandwidth": units.quantity(3.35, "TB/s")}}


def filled(text: str) -> str:
    return fill(text, SCOPE, FACTS)


def refusal(text: str) -> TextError:
    started = time.process_time()
    with pytest.raises(TextError) as caught:
        filled(text)
    assert time.process_time() - started < SOON
    assert caught.value.what.isprintable()
    assert len(caught.value.what) < 200
    return caught.value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{ billions }} B on {{ gpus }} GPUs", "7 B on 4 GPUs"),
        ("{{ state }} of {{ memory }}", "112 GB of 80 GiB"),
        ('{{ state | unit("GiB", 4) }}', "104.3 GiB"),
        ('{{ state | unit("GB", digits=4) }}', "112 GB"),
        ('{{ (state / gpus) | unit("GB") }}', "28 GB"),
        ("{{ (0.3 * 80) | round }}", "24"),
        ("{{ 2.345 | round(1) }} {{ 2.1 | round(0, 'ceil') }}", "2.3 3"),
        ("{{ 2.19 | round(1, 'floor') }}", "2.1"),
        ("{{ 1 / 3 }} {{ (1 / 3) | number(3) }}", "0.333333 0.333"),
        ("{{ count | thousands }} {{ 1234.5 | thousands }}", "1,200,000 1,234.5"),
        ("{{ -0.5 | thousands }} {{ 0 | thousands }}", "-0.5 0"),
        ("{{ -1234567 | thousands }} {{ 1e20 | thousands }}", "-1,234,567 1e+20"),
        ("{{ share | percent }} {{ (1 / 3) | percent(3) }}", "25% 33.3%"),
        ("{{ count | scientific }} {{ 0.00123 | scientific(2) }}", "1.2 × 10⁶ 1.2 × 10⁻³"),
        ('{{ fact("h100-sxm", "memory_bandwidth") }}', "3.35 TB/s"),
        ('{{ fact("h100-sxm", "memory_bandwidth") | unit("GB/s") }}', "3350 GB/s"),
        ("{{ 80 * GB - 24 * GB }} {{ 312 * TFLOP / s }}", "56 GB 312 TFLOP/s"),
        ("{{ min(gpus, 2) }} {{ 3 * min }} {{ number(state, 'MB') }}", "2 180 s 112000"),
        ("{{ link | upper }} {{ link | lower }} {{ 'a b' | title }}", "NVLINK nvlink A B"),
        ("{{ sharded }} {{ -gpus }} {{ 7.9 | int }} {{ -3 | abs }}", "True -4 7 3"),
        ("{{ 'yes' if state > 80 * GB else 'no' }}", "yes"),
        ("{% if gpus == 4 %}four{% elif gpus > 4 %}more{% else %}fewer{% endif %}", "four"),
        ("{% if gpus in [2, 4] and not (zero > 0) %}in{% endif %}", "in"),
        ("{% if gpus is even %}even{% endif %}{% if gpus is divisibleby(3) %}!{% endif %}", "even"),
        ("{% for n in [1, 2] %}{{ n }}{% if not loop.last %},{% endif %}{% endfor %}", "1,2"),
        ("| n |\n{% for i in range(2) %}\n| {{ i }} |\n{% endfor %}", "| n |\n| 0 |\n| 1 |\n"),
        ("{% for a, b in [(1, 'x'), (2, 'y')] %}{{ a }}{{ b }}{% endfor %}", "1x2y"),
        ("{{ [1, 2.0, 3] | join(', ') }}", "1, 2, 3"),
        ("{% raw %}{{ x }}{% endraw %} {{ '{{' }} {# a note #}.", "{{ x }} {{ ."),
        ("ends with a line\n{{ gpus }}\n", "ends with a line\n4\n"),
    ],
)
def test_a_text_is_filled_in(text, expected) -> None:
    assert filled(text) == expected


@pytest.mark.parametrize(
    "latex",
    [
        r"$\frac{2(n-1)}{n} \cdot S$ & <b>_x_</b> \{a\} % note",
        r"$$\sum_{i=0}^{n-1} x_{i} \qquad \text{for } n > 1$$",
        r"$\mathbb{R}^{d_{model}}$, 5 < 6 > 4 & 'quotes' \"too\"",
        r"\begin{cases} a & b \\ c & d \end{cases}",
    ],
)
def test_latex_and_markdown_stay_as_they_are(latex) -> None:
    assert filled(latex) == latex
    assert filled(latex + " {{ gpus }}") == latex + " 4"
    assert filled(latex + r" $\frac{ {{ gpus }} }{2}$") == latex + r" $\frac{ 4 }{2}$"


@pytest.mark.parametrize(
    ("text", "line", "what", "fix"),
    [
        ("one\ntwo {{ stat }}", 2, "unknown name 'stat'", "did you mean 'state'?"),
        ("{% if stat %}a{% endif %}", 1, "unknown name 'stat'", "did you mean 'state'?"),
        ("{{ sqrt }}", 1, "unknown name 'sqrt'", "write sqrt(x)"),
        ("{{ sqr(2) }}", 1, "unknown function 'sqr'", "did you mean 'sqrt'?"),
        ("{{ sqrt() }}", 1, "sqrt() with 0 arguments", "write sqrt(x)"),
        ("a\n\n{{ gpus | nmber }}", 3, "unknown filter 'nmber'", "did you mean 'number'?"),
        ("{{ state | unit }}", 1, "the filter 'unit' has the wrong arguments", 'unit("GB")'),
        ("{{ state | unit('GBB') }}", 1, "unknown unit 'GBB'", "did you mean 'GB'?"),
        ("{{ state | unit(link) }}", 1, "unknown unit 'NVLink'", None),
        ("{{ state | unit(3) }}", 1, "unknown unit '3'", None),
        ("{{ state | unit('ms') }}", 1, "expected a time in ms, got a size", None),
        ("{{ gpus | unit('GB') }}", 1, "expected a size in GB, got a plain number", None),
        (
            "{{ state / gpus | unit('GB') }}",
            1,
            "'| unit' applies only to the last operand",
            "parentheses",
        ),
        ("{{ state | number }}", 1, "'number' needs a plain number, got a size", "| unit"),
        ("{{ link | percent }}", 1, "'percent' needs a number, got text", None),
        ("{{ sharded | number }}", 1, "'number' needs a number, got a truth value", None),
        ("{{ gpus | number(0) }}", 1, "the number of digits must be a whole number", None),
        ("{{ gpus | upper }}", 1, "'upper' needs text", None),
        ("{{ 3 | join }}", 1, "'join' needs a list", None),
        ("{{ 1.5 | round(0, 'up') }}", 1, "the method of 'round'", None),
        ("a\nb\n{{ gpus / zero }}", 3, "division by zero", None),
        ("{% for i in range(3) %}\n{{ i / zero }}\n{% endfor %}", 2, "division by zero", None),
        ("{{ state + gpus }}", 1, "can't add a size and a plain number", None),
        ("{% if state == 112 %}a{% endif %}", 1, "can't compare a size with a plain", None),
        ("{{ link * 3 }}", 1, "can't multiply text", None),
        ("{{ 'a' is even }}", 1, "can't take the remainder of text", None),
        ("{{ fact('h100', 'sms') }}", 1, "no item 'h100'", "did you mean 'h100-sxm'?"),
        ("{{ gpus", 1, "can't read a placeholder", "write {{ name }}"),
        ("{{ gpus gpus }}", 1, "can't read a placeholder", "write {{ name }}"),
        ("{{ }}", 1, "can't read a placeholder", "write {{ name }}"),
        ("{% if gpus %}", 1, "can't read a placeholder", None),
        ("{% fi %}", 1, "can't read a placeholder", None),
        ("x {# open", 1, "can't read a placeholder", None),
        (r"$\frac{{{ gpus }}}{2}$", 1, "can't read a placeholder", "a brace of LaTeX"),
        ("$2^{{10}}$", 1, "'{{10}}' would print '10' without braces", "for LaTeX"),
        ("{{ none }}", 1, "would print 'None'", None),
        ("{{ gpus.bit_length() }}", 1, "only named functions", None),
        ("{{ ''.__class__.__mro__ }}", 1, "a '.' after a name", None),
        ("{{ link[0] }}", 1, "an index in brackets", None),
        ("{{ self }}", 1, "'self' can't be a name", None),
        ("{{ loop.index }}", 1, "unknown name 'loop'", None),
        ("{{ gpus is defined }}", 1, "the test 'is defined' is not allowed", None),
        ("{{ gpus is even(2) }}", 1, "the test 'is even' has the wrong arguments", None),
        ("{{ 'a' if sharded }}", 1, "an 'if' without 'else'", None),
        ("{{ 1 < gpus < 9 }}", 1, "a chained comparison is not allowed", "'and'"),
        ("{{ gpus ~ link }}", 1, "'~' is not allowed", None),
        ("{{ 2 ** 3 ** 2 }}", 1, "a power of a power", None),
        ("{% set n = 3 %}", 1, "{% set %} is not allowed", "'values'"),
        ("{% set n %}a{% endset %}", 1, "{% set %} is not allowed", "'values'"),
        ("{% include 'x' %}", 1, "'include' is not allowed", None),
        ("{% import 'x' as y %}", 1, "'import' is not allowed", None),
        ("{% extends 'x' %}", 1, "'extends' is not allowed", None),
        ("{% macro m() %}{{ m() }}{% endmacro %}", 1, "'macro' is not allowed", None),
        ("{% for c in link %}a{% endfor %}", 1, "a loop needs a list or a range", None),
        ("{% for i in [1] recursive %}{{ loop([1]) }}{% endfor %}", 1, "a loop needs", None),
        ("{{ [1, 2] + [3] }}", 1, "can't add a list", None),
        ("{{ [1, 2] | number }}", 1, "'number' needs a number, got a list", None),
        ("{{ none if sharded else 1 }}", 1, "can't print nothing", None),
        ("{{ range(3) }}", 1, "can't print a list", None),
        ("{% for i in range(2.5) %}a{% endfor %}", 1, "range() needs whole numbers", None),
        ("{% for i in range(1, 9, 0) %}a{% endfor %}", 1, "step of range() can't be zero", "omit"),
        ("{% for i in range() %}a{% endfor %}", 1, "range() takes one to three", None),
        ("{% for a, b in [1] %}{{ a }}{% endfor %}", 1, "a placeholder can't be filled in", None),
    ],
)
def test_what_is_wrong_is_said_with_line_and_what_to_do(text, line, what, fix) -> None:
    error = refusal(text)
    assert what in error.what
    assert error.line == line
    if fix is not None:
        assert fix in str(error.fix)


HOSTILE = {
    "tower": "{{ (9 ** 9) ** (9 ** 9) }}",
    "long range": "{% for i in range(10 ** 9) %}x{% endfor %}",
    "endless range": "{% for i in range(10 ** 300) %}x{% endfor %}",
    "long list": "{% for i in [" + "1," * 101 + "] %}x{% endfor %}",
    "deep loops": "{% for i in range(99) %}" * 3 + "x" + "{% endfor %}" * 3,
    "wide loops": "{% for i in range(100) %}{% for j in range(100) %}"
    + "x" * 1000
    + "{% endfor %}{% endfor %}",
    "ten megabytes": "{{ gpus }}" * 1_000_000,
    "open brackets": "{{ " + "(" * 5000,
    "brackets": "{{ " + "(" * 900 + "1" + ")" * 900 + " }}",
    "minuses": "{{ " + "-" * 5000 + "1 }}",
    "nots": "{{ " + "not " * 3000 + "1 }}",
    "nested ifs": "{% if sharded %}" * 200 + "x" + "{% endif %}" * 200,
    "sums": "{{ " + "1+" * 5000 + "1 }}",
    "filters": "{{ gpus" + " | abs" * 2000 + " }}",
    "digits": "{{ " + "9" * 9000 + " }}",
    "float": "{{ 1e999 + gpus }}",
    "text times a number": "{{ 'ab' * 10 ** 300 }}",
    "joined": "{{ " + "[" * 30 + "'abc'" + "] | join('abc')" * 30 + "}}",
    "many placeholders": "{{ gpus }}" * 1900,
    "globals": "{{ cycler.__init__.__globals__ }}",
    "format": "{{ '%s' % link }}",
    "lipsum": "{{ lipsum(n=100000) }}",
    "null": "{{ \x00 }}",
    "surrogate": "{{ '\ud800' + 1 }}",
    "blocks": "{% block a %}{{ self.a() }}{% endblock %}",
}


@pytest.mark.thorough
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_text_is_refused_at_once(name) -> None:
    try:
        assert len(filled(HOSTILE[name])) < 20_000
    except TextError:
        refusal(HOSTILE[name])
    else:
        assert name in {"joined", "nested ifs"}, "this one should have been refused"


@pytest.mark.thorough
def test_the_longest_loops_end_soon() -> None:
    body = "{% if " + " and ".join(["i * j + 1 > 0"] * 30) + " %}.{% endif %}"
    text = "{% for i in range(100) %}{% for j in range(100) %}" + body + "{% endfor %}{% endfor %}"
    started = time.process_time()
    assert len(filled(text)) == 10_000
    assert time.process_time() - started < 10


def test_names_are_those_that_a_scope_must_bind() -> None:
    text = "{{ a * GB | round }} {% for i in range(n) %}{{ i + max(b, 2 * min) }}{% endfor %}"
    assert free_names(text) == {"a", "n", "b"}
    assert free_names("plain { text }") == frozenset()
    assert free_names("{% if c == 1 %}{{ d }}{% else %}{{ e }}{% endif %}") == {"c", "d", "e"}
    with pytest.raises(TextError):
        free_names("{{ a")


def test_a_name_in_a_branch_that_is_not_taken_must_exist_too() -> None:
    assert refusal("{% if gpus == 4 %}a{% else %}{{ stat }}{% endif %}").line == 1


def test_an_error_survives_a_process_boundary() -> None:
    error = pickle.loads(pickle.dumps(refusal("a\n{{ stat }}")))
    assert (error.what, error.line) == ("unknown name 'stat'", 2)


def test_jinja_waits_until_a_text_needs_it() -> None:
    script = (
        "import sys; from grader.expressions import fill; fill('plain $x$', {});"
        "assert 'jinja2' not in sys.modules; fill('{{ 1 + 1 }}', {});"
        "assert 'jinja2' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


@given(
    st.text(max_size=100).filter(
        lambda t: not {"{{", "{%", "{#"} & {t[i : i + 2] for i in range(len(t))}
    )
)
def test_a_text_without_placeholders_comes_back_unchanged(text) -> None:
    assert filled(text) == text


PIECES = [
    *("{{ ", " }}", "{% ", " %}", "{#", "#}", "gpus", "state", "link", "1", "2.5", "'a'", "GB"),
    *("if ", "endif", "for i in ", "range(", "endfor", "else", "set x=", "[", "]", "(", ")", ","),
    *(" | ", "unit('GB')", "number", "join", "round", " * ", " ** ", " + ", " ~ ", "-", ".", ":"),
    *(" == ", " in ", " is ", "even", "loop", "self", "\n", "$x$", "{", "}", "%", "i", "raw"),
]


def survives(text: str) -> None:
    started = time.process_time()
    try:
        filled(text)
        said = ""
    except TextError as error:
        said = error.what
    assert said.isprintable()
    assert time.process_time() - started < SOON


@given(st.text(max_size=100).map(lambda t: "{{" + t + "}}"))
@example("{{'\ud800'}}")
@example("{{ºº}}")
def test_any_placeholder_is_filled_in_or_refused(text) -> None:
    survives(text)


@given(st.binary(max_size=200))
def test_any_bytes_are_filled_in_or_refused(data) -> None:
    survives("{{ gpus }}" + data.decode("latin-1"))


@given(st.lists(st.sampled_from(PIECES), max_size=25).map("".join))
def test_any_jumble_of_pieces_is_filled_in_or_refused(text) -> None:
    survives(text)


def test_the_reference_has_every_filter() -> None:
    page = (Path(__file__).parents[2] / "docs/reference/expressions.md").read_text("utf-8")
    rows = "\n".join(line for line in page.splitlines() if line.startswith("| `"))
    for name in FILTERS:
        assert re.search(rf"\b{name}\b", rows), name
