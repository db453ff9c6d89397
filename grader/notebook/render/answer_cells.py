"""What the cells of an answer contain besides its question, by the type of its key."""

from __future__ import annotations

import io
import re
import sys
import tokenize
from collections.abc import Mapping

from grader.kinds import lettered, plan
from grader.kinds.answers import label_as_python
from grader.kinds.attempts import CodeKey
from grader.kinds.explanation import ExplanationKey
from grader.kinds.hidden.compare import Closeness
from grader.kinds.matching import MatchingKey
from grader.kinds.plan import PlanKey
from grader.kinds.table import TableKey, column_heads
from grader.kinds.true_false import TrueFalseKey
from grader.model import Key


def choices_text(key: Key) -> str:
    """Returns the choices as Markdown to show below the question; empty if there are none."""
    choices = lettered.as_markdown(getattr(key, "choices", ()))
    if not isinstance(key, MatchingKey):
        return choices
    items = "\n".join(f"{n}. {lettered.indent_item(t)}" for n, t in enumerate(key.items, 1))
    return f"{items}\n\n{choices}"


def placeholder(key: Key) -> str:
    """Returns the Python expression that the answer cell starts with; it reads as no answer."""
    if isinstance(key, MatchingKey):
        return "{" + ", ".join(f"{n}: ..." for n in range(1, len(key.items) + 1)) + "}"
    if isinstance(key, TableKey):
        blank = ", ".join(["..."] * len(key.titles))
        lines = (f"    {label_as_python(label)}: [{blank}]," for label in key.rows)
        return "\n".join(("{", f"    # {key.part.row}: [{column_heads(key)}]", *lines, "}"))
    if isinstance(key, PlanKey):
        offers = key.part.choose.items()
        lines = (f'    "{name}": ...,  # {plan.format_offers(offered)}' for name, offered in offers)
        return "\n".join(("{", *lines, "}"))
    if isinstance(key, TrueFalseKey) and key.choices:
        return "[..., ...]"
    return '"""\n...\n"""' if isinstance(key, ExplanationKey) else "..."


def code_cell(name: str, key: Key, answer: str | None = None) -> str:
    """Returns the whole answer cell of a code part named *name*: the starter, or *answer* with the
    imports of the starter; empty for other kinds."""
    if not isinstance(key, CodeKey):
        return ""
    if answer is None:
        return _rename(key.starter, key.part.id, name)
    # The examples in the cell below may need an import that the answer does not use.
    imports = re.findall(r"^(?:import|from) .+$", key.starter, re.M)
    missing = [line for line in imports if line not in answer.splitlines()]
    return _rename("\n".join([*missing, answer]), key.part.id, name)


def examples_cell(name: str, key: Key) -> str:
    """Returns the code of a cell with the visible examples; empty if there are none."""
    if not isinstance(key, CodeKey):
        return ""
    near, usual = key.part.closeness, Closeness()
    differs = (near.relative, near.absolute) != (usual.relative, usual.absolute)
    close = f", relative={near.relative}, absolute={near.absolute}" if differs else ""
    return "\n\n".join(
        f"found = {_rename(call, key.part.id, name)}\n"
        f"expected = {' '.join(gives.split())}\n"
        f"print(compare(found, expected{close}))"
        for call, gives in key.examples
    )


def tool_cells(key: Key) -> Mapping[str, str]:
    """Returns the source of each tool to show above the problem, by name."""
    return dict(zip(key.part.tools, key.tools, strict=True)) if isinstance(key, CodeKey) else {}


def modules_needed(key: Key) -> tuple[str, ...]:
    """Returns the modules outside the standard library that the starter of a code part imports at
    the top."""
    starter = key.starter if isinstance(key, CodeKey) else ""
    imported = re.findall(r"^(?:import|from) +(\w+)", starter, re.M)
    return tuple(name for name in dict.fromkeys(imported) if name not in sys.stdlib_module_names)


def _rename(source: str, part: str, name: str) -> str:
    """Returns *source* with the part's function renamed to *name*; strings and comments are
    kept."""
    try:
        tokens = [t for t in tokenize.generate_tokens(io.StringIO(source).readline) if t.string]
    except (tokenize.TokenError, SyntaxError):
        return re.sub(rf"(?<![\w.]){re.escape(part)}\b(?!\s*=[^=])", name, source)
    places = []
    depth = 0
    for before, token, after in zip([None, *tokens], tokens, [*tokens[1:], None], strict=False):
        depth += (token.string in ("(", "[", "{")) - (token.string in (")", "]", "}"))
        is_attribute = before is not None and before.string == "."
        # Inside brackets, a `=` after the name makes it the name of an argument.
        is_keyword = depth > 0 and after is not None and after.string == "="
        if token.string == part and not is_attribute and not is_keyword:
            places.append(token)
    # Not splitlines, which also splits at form feeds and other characters.
    lines = io.StringIO(source).readlines()
    for token in reversed(places):
        row, (start, end) = token.start[0] - 1, (token.start[1], token.end[1])
        lines[row] = lines[row][:start] + name + lines[row][end:]
    return "".join(lines)
