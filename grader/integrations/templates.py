"""Fills in the templates of files for other systems."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from grader.text.templates import make_environment, render_template

if TYPE_CHECKING:
    from jinja2 import Environment


def render_folder(
    folder: str, templates: tuple[Path, ...], **names: object
) -> Iterator[tuple[str, bytes]]:
    """Renders the templates in *folder*; yields each file's name and content, with LF line ends."""
    environment = text_environment(templates)
    for name in environment.list_templates(filter_func=lambda n: n.startswith(f"{folder}/")):
        if name.endswith(".j2"):
            text = render_template(environment, name, **names)
            parts = name.removeprefix(f"{folder}/").removesuffix(".j2").split("/")
            # `dot_` stands for a leading dot, since packages omit files that begin with a dot.
            target = "/".join("." + p[4:] if p.startswith("dot_") else p for p in parts)
            yield target, (text.strip("\n") + "\n").encode()


@lru_cache(maxsize=8)
def text_environment(folders: tuple[Path, ...]) -> Environment:
    """Returns an environment for Markdown, YAML, and Python, which are not escaped."""
    # Unusual delimiters, because workflows and devcontainers use the usual ones themselves.
    return make_environment(
        folders,
        autoescape=False,
        keep_trailing_newline=True,
        block_start_string="[%",
        block_end_string="%]",
        variable_start_string="[[",
        variable_end_string="]]",
        comment_start_string="[#",
        comment_end_string="#]",
    )
