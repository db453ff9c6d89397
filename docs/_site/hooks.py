"""Hooks of the documentation site: pages from the root of the repository, and living examples."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
from markupsafe import Markup
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from grader.bank.folders import Bank
from grader.figures import explanation_figures, figure_svg, prompt_figures
from grader.release.rendering import draw_sample
from grader.text.markdown import author_text

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "build" / "demo"
"""What `make docs` writes with `grader demo` before it builds the site."""
CATALOGUE = ROOT / "build" / "catalogue"
"""What `make docs` writes with `grader catalogue`."""

ROOT_PAGES = {
    "CONTRIBUTING.md": "contributing/index.md",
    "CODE_OF_CONDUCT.md": "contributing/conduct.md",
    "SECURITY.md": "contributing/security-policy.md",
    "CHANGELOG.md": "contributing/changelog.md",
}
"""Files at the root of the repository, and their places on the site."""

STUDENT = "rosa"
"""The student of the demonstration whose notebook is shown."""

_PAGE = """\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>The notebook of {title}</title>
<style>{css}</style>
<main>{cells}</main>
</html>
"""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages from the root of the repository, the demonstration, and the catalogue."""
    for name, place in ROOT_PAGES.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        files.append(File.generated(config, place, content=at_the_root(text)))
    for place, content in {**examples(), **catalogue()}.items():
        files.append(File.generated(config, place, content=content))
    return files


_FIGURE = re.compile(r"^<!-- figure ([a-z0-9-]+) ([a-z0-9_-]+) -->$", re.M)


def _drawn_figure(found: re.Match[str]) -> str:
    """Returns a figure of a problem of the bank, for a comment that names both."""
    variant = draw_sample(Bank.open(()), found[1])
    drawn = {one.id: one for one in (*prompt_figures(variant), *explanation_figures(variant))}
    style = "background:#fff;border-radius:12px;padding:10px;max-width:580px;overflow-x:auto"
    svg = figure_svg(drawn[found[2]]).replace(
        "<svg ", '<svg style="max-width:100%;height:auto" ', 1
    )
    return f'<div style="{style}">{svg}</div>'


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Points links that leave `docs/` to the same file's page on the site, and draws figures."""
    markdown = _FIGURE.sub(_drawn_figure, markdown)
    for name, place in ROOT_PAGES.items():
        target = re.escape(name)
        markdown = re.sub(rf"\]\(((?:\.\./)+){target}([#)])", rf"](\1docs/{place}\2", markdown)
    return re.sub(r"\]\(((?:\.\./)*)\.\./docs/", r"](\1", markdown)


def at_the_root(text: str) -> str:
    """Returns the text of a file at the root, with links as in the folder `docs/contributing/`."""
    text = re.sub(r"\]\(docs/", "](../", text)
    for name, place in ROOT_PAGES.items():
        text = re.sub(rf"\]\({re.escape(name)}([#)])", rf"](../{place}\1", text)
    return text


def examples() -> dict[str, bytes]:
    """Returns the demonstration's pages by their place on the site.

    Raises PluginError if `grader demo` has not been run.
    """
    if not (DEMO / "results" / "report" / "index.html").exists():
        raise PluginError(f"{DEMO} has no results; build the site with: make docs")
    results = DEMO / "results"
    made = {
        f"examples/{path.relative_to(results).as_posix()}": path.read_bytes()
        for folder in ("feedback", "report")
        for path in sorted((results / folder).glob("*.html"))
    }
    notebook = DEMO / "release" / "notebooks" / f"{STUDENT}.ipynb"
    made["examples/notebook.ipynb"] = notebook.read_bytes()
    made["examples/notebook.html"] = notebook_page(notebook).encode()
    return made


def catalogue() -> dict[str, bytes]:
    """Returns the catalogue's pages by their place on the site.

    Raises PluginError if `grader catalogue` has not been run.
    """
    if not (CATALOGUE / "index.html").exists():
        raise PluginError(f"{CATALOGUE} has no pages; build the site with: make docs")
    return {
        f"examples/catalogue/{path.relative_to(CATALOGUE).as_posix()}": path.read_bytes()
        for path in sorted(CATALOGUE.rglob("*.html"))
    }


def notebook_page(path: Path) -> str:
    """Returns a notebook as an HTML page that loads nothing; formulas are MathML."""
    notebook = nbformat.read(path, as_version=4)
    style = HtmlFormatter(nowrap=True)
    cells = []
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cells.append(Markup("<section>{}</section>").format(author_text(cell.source)))
        elif cell.metadata.get("jupyter", {}).get("source_hidden"):
            first = cell.source.splitlines()[0]
            cells.append(Markup("<pre class=folded>{} …</pre>").format(first))
        else:
            code = Markup(highlight(cell.source, PythonLexer(), style))
            cells.append(Markup("<pre>{}</pre>").format(code))
    css = (Path(__file__).parent / "notebook.css").read_text(encoding="utf-8")
    css += str(style.get_style_defs("pre"))
    return _PAGE.format(title=path.stem, css=css, cells=Markup().join(cells))
