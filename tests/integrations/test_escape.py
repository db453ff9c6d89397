"""Words of students stay words: read back by readers of Markdown and of commands."""

from __future__ import annotations

import html
import re

import pytest
from hypothesis import example, given
from markdown_it import MarkdownIt

from grader.text.escape import (
    escape_controls,
    escape_markdown,
    neutralize,
    neutralize_line,
    to_one_line,
)
from tests.helpers.export import NASTY, hostile, is_command, lines_of


@pytest.mark.parametrize(
    "line", ["::error::x", "   ::set-env name=A::b", "a ##[error]b", "\u3000::debug::x"]
)
def test_the_reader_of_commands_finds_them(line: str) -> None:
    assert is_command(line)
    assert not is_command(neutralize(line))


@given(hostile)
@example("\r::error::x")
@example(":::error::x")
@example(":\x00:error::x")
@example("##\x00[error]")
def test_no_line_of_inert_text_is_a_command(text: str) -> None:
    assert not any(is_command(line) for line in lines_of(neutralize(text)))
    assert not any(is_command(prefix + neutralize_line(text)) for prefix in ("", " ", "x "))


@given(hostile)
def test_one_line_is_one_line_without_control_characters(text: str) -> None:
    flat = to_one_line(text)
    assert len(flat) <= 400
    assert len(flat.splitlines()) <= 1
    assert not re.search(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029\u202a-\u202e]", flat)
    flat.encode()


@given(hostile)
def test_plain_text_keeps_its_lines_and_can_be_written(text: str) -> None:
    kept = escape_controls(text)
    kept.encode()
    assert kept.count("\n") == len(lines_of(text)) - 1


# As GitHub reads: HTML is let through, and tables, strikethrough and addresses are known.
GITHUB = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


@given(hostile)
@example("a | b")
@example("`` ` ``")
@example("<b>\\")
@example("\\|")
@example("&#64;ada")
def test_markdown_comes_out_as_the_words_that_went_in(text: str) -> None:
    cell = escape_markdown(text)
    table = f"| a | b |\n|---|---|\n| {cell} | end |\n"
    rendered = GITHUB.render(table)
    cells = re.findall(r"<td>(.*?)</td>", rendered, re.DOTALL)
    assert len(cells) == 2
    assert cells[1] == "end"
    assert "<" not in cells[0]
    assert html.unescape(cells[0]).replace("\u200b", "") == to_one_line(text).replace("\u200b", "")


@given(hostile)
@example("1. x")
@example("2) x")
@example("# x")
@example("===")
def test_markdown_at_the_start_of_a_paragraph_is_a_paragraph(text: str) -> None:
    rendered = GITHUB.render(f"first\n\n{escape_markdown(text)}\n")
    tags = set(re.findall(r"<(/?\w+)", rendered))
    assert tags <= {"p", "/p"}


@pytest.mark.parametrize("text", [n for n in NASTY if n.strip()])
def test_no_mention_no_reference_and_no_address_comes_of_it(text: str) -> None:
    shown = html.unescape(escape_markdown(text))
    assert not re.search(r"@\w|#\d|\w://|www\.", shown)


def test_an_issue_by_its_other_name_is_no_reference() -> None:
    assert "GH-26" not in escape_markdown("as in GH-26")
    assert "gh-26" not in escape_markdown("gh-26")
    assert escape_markdown("GH-200 GPUs, high-end").count("\u200b") == 1
