"""Markdown with formulas to HTML: for pages, and for systems that typeset formulas themselves."""

from grader.text.markdown import author_text, feedback_text, inline, plain_text, typeset_text

__all__ = ["author_text", "feedback_text", "inline", "plain_text", "typeset_text"]
