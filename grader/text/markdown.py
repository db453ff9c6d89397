"""Converts Markdown with formulas to HTML for a page, or to plain text."""

from __future__ import annotations

import re
from functools import lru_cache
from html import escape, unescape
from typing import TYPE_CHECKING

from markupsafe import Markup

from grader.text.mathml import formula_html

if TYPE_CHECKING:
    from collections.abc import Mapping

    from markdown_it import MarkdownIt

_LONGEST = 50_000
_TAG = re.compile(r"<[^>]*>")
_ONE_PARAGRAPH = re.compile(r"\s*<p>((?:(?!</?p>).)*)</p>\s*", re.DOTALL)
_LINK = re.compile(r"\s*(https?|mailto):", re.IGNORECASE)
_SCROLLED = '<div class="scroll" role="group" aria-label="Table" tabindex="0">'
# Text without Markdown syntax, as in most feedback.
_PLAIN = re.compile(r"[A-Za-z(][^*_`$\\\[\]<>&!#|~\n:/=]*")


@lru_cache(maxsize=4096)
def author_text(text: str) -> Markup:
    """Returns HTML of an author's text, without raw HTML and images."""
    return _render("author", text)


@lru_cache(maxsize=4096)
def feedback_text(text: str) -> Markup:
    """Returns HTML of feedback, which may quote a student; without links."""
    return _render("feedback", text)


@lru_cache(maxsize=4096)
def typeset_text(text: str) -> str:
    r"""Returns HTML of an author's text, with formulas as LaTeX between \( and \) or \[ and \].

    For systems that typeset formulas themselves. The output has no active content for any text.
    """
    return str(_render("typeset", text))


def inline_text(text: str) -> Markup:
    """Returns HTML of an author's text without a paragraph around it."""
    return Markup(strip_paragraph(author_text(text)))  # noqa: S704 - it was markup before


def strip_paragraph(html: str) -> str:
    """Returns the HTML of a single paragraph without its <p> tags; other HTML unchanged."""
    match = _ONE_PARAGRAPH.fullmatch(html)
    return match[1] if match else html.strip()


def plain_text(text: str) -> str:
    r"""Returns an author's text on one line without markup; formulas as LaTeX between \( and \)."""
    return " ".join(unescape(_TAG.sub("", typeset_text(text))).split())


def _render(form: str, text: str) -> Markup:
    """Returns *text* as HTML; as preformatted text if it is too long or nested too deeply."""
    text = text.strip()
    if _PLAIN.fullmatch(text):
        return Markup("<p>{}</p>\n").format(text)
    if len(text) > _LONGEST:
        return Markup("<pre>{}</pre>\n").format(text)
    try:
        return Markup(_make_parser(form).render(text))  # noqa: S704 - raw HTML is off in the parser
    except RecursionError:
        return Markup("<pre>{}</pre>\n").format(text)


@lru_cache(maxsize=3)
def _make_parser(form: str) -> MarkdownIt:
    """Returns the parser for one of the forms "author", "feedback", and "typeset"."""
    from markdown_it import MarkdownIt
    from mdit_py_plugins.dollarmath import dollarmath_plugin

    is_feedback, is_typeset = form == "feedback", form == "typeset"
    preset = "zero" if is_feedback else "commonmark"
    parser = MarkdownIt(preset, {"html": False, "linkify": False, "maxNesting": 20})
    parser.use(
        dollarmath_plugin,
        allow_labels=False,
        allow_space=False,
        allow_digits=False,
        allow_blank_lines=False,
        double_inline=True,
        renderer=_source_formula if is_typeset else _mathml_formula,
    )
    if is_feedback:
        syntax = ["fence", "list", "emphasis", "backticks", "escape", "newline", "entity"]
        parser.enable(syntax)
    else:
        parser.enable(["table", "strikethrough"]).disable(["image"])
    # Authors' tables may be wider than a phone; other systems have their own pages.
    around = ("", "") if is_typeset else (_SCROLLED, "</div>")
    parser.add_render_rule("table_open", lambda *_: f"{around[0]}<table>\n")
    parser.add_render_rule("table_close", lambda *_: f"</table>{around[1]}\n")
    parser.validateLink = lambda url: _LINK.match(url) is not None  # type: ignore[method-assign]
    return parser


def _mathml_formula(latex: str, options: Mapping[str, bool]) -> str:
    return formula_html(latex, block=options["display_mode"])


def _source_formula(latex: str, options: Mapping[str, bool]) -> str:
    start, end = (r"\[", r"\]") if options["display_mode"] else (r"\(", r"\)")
    return f"{start}{escape(latex.strip())}{end}"
