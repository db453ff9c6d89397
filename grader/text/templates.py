"""Fills in templates; a bank's folder of templates overrides the built-in one."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from grader.errors import SpecError
from grader.text.markdown import author_text, feedback_text, inline_text
from grader.text.words import count_points, kind_words, points
from grader.units import format_number

if TYPE_CHECKING:
    from jinja2 import Environment


def make_environment(folders: tuple[Path, ...], **options: object) -> Environment:
    """Returns an environment for templates in *folders*, the first of which wins."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    return Environment(  # noqa: S701 - the callers say which text is escaped
        loader=FileSystemLoader(list(folders)),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        **options,  # type: ignore[arg-type]
    )


def html_environment(folders: tuple[Path, ...], filters: Mapping[str, object]) -> Environment:
    """Returns an environment for HTML pages with *filters*, and those that most pages need."""
    environment = make_environment(folders, autoescape=True, auto_reload=False)
    environment.filters |= {**_PAGE_FILTERS, **filters}
    return environment


def _sha256(text: str) -> str:
    """Returns the hash of a script for a content security policy."""
    return b64encode(hashlib.sha256(text.encode()).digest()).decode()


_PAGE_FILTERS: Mapping[str, object] = {
    "author_text": author_text,
    "count_points": count_points,
    "feedback_text": feedback_text,
    "inline": inline_text,
    "kind": kind_words,
    "plain": format_number,
    "points": points,
    "sha256": _sha256,
}


def render_template(environment: Environment, name: str, /, **names: object) -> str:
    """Returns the text of a template. Raises SpecError if it can't be used."""
    from jinja2 import TemplateError

    try:
        return environment.get_template(name).render(**names)
    except TemplateError as error:
        loader = environment.loader
        raise SpecError(
            f"the template '{name}' can't be used: {error}",
            where=", ".join(map(str, getattr(loader, "searchpath", ()))),
            fix="if your bank's templates/ folder overrides it, compare it with the original",
        ) from None
