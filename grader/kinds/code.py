"""Code that a student writes, judged by its results on hidden inputs."""

from __future__ import annotations

import io
import re
import sys
import tokenize
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import get_args

from grader.kinds import rules, samples, student_tools
from grader.kinds.attempts import Attempt, Code, CodeExample, CodeKey
from grader.kinds.base import UNDRAWN, Example, Tried, Unreadable, Usual, kinds
from grader.kinds.hidden import analysis
from grader.kinds.hidden.analysis import NotAnalyzedError
from grader.kinds.hidden.cases import run_here
from grader.kinds.hidden.compare import Closeness
from grader.kinds.hidden.judging import CaseResults, example_fault
from grader.kinds.hidden.source import definitions
from grader.kinds.hidden.statements import lines_of
from grader.kinds.scalars import refusal
from grader.model import Draw, Judgement, Raw, Trial, Verdict, packages


class CodeKind(Usual[CodeKey, Attempt]):
    """A function or class that the student writes, graded with hidden cases."""

    spec: type[Code] = Code
    needs_solution = True
    by_solve = False

    def key(self, part: Code, draw: Draw) -> CodeKey:
        """Returns the key without running anything yet."""
        if not _defines(part.starter, part.id):
            raise ValueError(f"the starter defines no function or class '{part.id}'")
        for name in part.tools:
            student_tools.source(name)
        for name in packages.needed_by(part.tools):
            if name not in part.needs:
                raise ValueError(f"its tools need {name}: add needs: [{name}]")
        return CodeKey(
            part=part,
            draw=draw,
            starter=draw.fill(part.starter, draw.scope).strip("\n"),
            examples=tuple(
                (draw.fill(e.call, draw.scope).strip(), draw.fill(e.gives, draw.scope).strip())
                for e in part.examples
            ),
        )

    def read(self, raw: Raw, key: CodeKey) -> Attempt:
        """Returns the code. Raises Unreadable for the untouched starter and for values that are not
        code."""
        if raw.get("t") != "code":
            raise refusal(raw, _WANTED)
        calls, source, name = raw.get("calls"), str(raw.get("source")), str(raw.get("name"))
        value = raw.get("value")
        if not isinstance(calls, list):
            raise refusal(value if isinstance(value, dict) else {}, _WANTED)
        source = re.sub(rf"\b{re.escape(name)}\b", key.part.id, source) if name else source
        unseen = str(raw.get("unseen") or "")
        try:
            if _is_untouched(source, key):
                raise Unreadable("The starter code is unchanged.", blank=True)
        except NotAnalyzedError as error:
            unseen = unseen or str(error)
        return Attempt(
            source=source,
            unseen=unseen,
            calls=tuple(c for c in calls if isinstance(c, dict)),
            deferred=next((one for one in _WAITS if one == raw.get("deferred")), ""),
        )

    def judge(self, value: Attempt, key: CodeKey) -> Judgement:
        """Judges by groups of hidden cases: each group earns its share if all its cases pass."""
        rule = rules.broken(value, key.part)
        if rule is not None:
            note = f"This part must be solved without {rule}."
            return Judgement(share=0.0, verdict=Verdict.INCORRECT, note=note)
        if value.deferred:
            return Judgement(share=None, verdict=Verdict.UNSETTLED, note=_WAITS[value.deferred])
        try:
            found = CaseResults(value, key)
        except LookupError:
            note = "The code was run on inputs that no longer count; it will be run again."
            return Judgement(share=None, verdict=Verdict.UNSETTLED, note=note)
        judgement = found.judgement()
        doubt = rules.doubt(value, key.part, earns=judgement.share != 0)
        if doubt is None:
            return judgement
        note = f"This part forbids some functions, and {doubt}; a person will review it."
        return Judgement(share=None, verdict=Verdict.UNSETTLED, note=note)

    def trial(self, name: str, key: CodeKey) -> Trial:
        """Returns the visible examples and the hidden cases."""
        return key.trial(name)

    def say(self, value: Attempt, key: CodeKey) -> str:  # noqa: ARG002
        """Returns how many lines the student wrote, not counting the tools in the notebook."""
        what, said = value.deferred, "code"
        # All tools, because a sheet does not say which ones the notebook contains.
        given = [student_tools.source(name) for name in student_tools.known()]
        lines = lines_of(value.source, given)
        if lines:
            said = f"code of {lines} {'line' if lines == 1 else 'lines'}"
        return f"{said}, not run: {what} is not installed" if what in packages.PACKAGES else said

    def tried(self, value: Attempt, key: CodeKey) -> tuple[Tried, ...]:
        """Returns how the visible examples went; empty if the machine could not run them."""
        if value.deferred:
            return ()
        faults = [example_fault(call, key) for call in value.calls[: len(key.examples)]]
        calls = [" ".join(call.split()) for call, _ in key.examples]
        faults += [f"`{call}` was not run" for call in calls[len(faults) :]]
        return tuple(
            Tried(call=call, fault=fault or "") for call, fault in zip(calls, faults, strict=True)
        )

    def examples(self, key: CodeKey) -> tuple[Example, ...]:
        """Returns right solutions, the untouched starter, and values that are not code.

        Examples that need a package missing here are left out.
        """
        here = not packages.missing(key.needs)
        right = [key.part.id, *(f"{key.part.id}_right_{n}" for n in key.hidden.named("right"))]
        ran = (
            Example(raw=self.raw(key, function), share=1.0, why=f"{function} of the solution")
            for function in (right if here else ())
        )
        name = key.part.id
        raised = {"is": "raised", "type": "NoSuchError", "what": ""}
        fails = [{"call": digest, **raised} for digest in key.trial(name).digests]
        source = f"def {name}(*arguments, **named):\n    raise NoSuchError"
        wrong = {"t": "code", "source": source, "name": name, "calls": fails}
        return (
            *ran,
            Example(raw=wrong, share=0.0, why="code that always raises"),
            samples.unreadable(
                {"t": "code", "source": key.starter, "name": key.part.id, "calls": []},
                "the untouched starter",
            ),
            samples.unreadable(samples.number(1), "a number"),
            samples.unreadable(samples.text("x"), "a text"),
            *samples.NOTHING,
        )

    def raw(self, key: CodeKey, function: str) -> Raw:
        """Returns what a run would leave if a student wrote that function of the solution file."""
        return self.ran(key, key.part.id, key.hidden.source(function, key.part.id), function)

    def ran(self, key: CodeKey, name: str, source: str, function: str = "") -> Raw:
        """Returns what a run of *source* would leave of *name*. Runs it here, so only our own code.

        *function* is the function of the solution file that the source was made from, if any.
        """
        waits = packages.missing(key.needs)
        if waits:
            raw = {"t": "code", "source": source, "name": name, "value": {"t": "object"}}
            return {**raw, "calls": [], "deferred": waits[0]}
        return run_here(key.trial(name), source, function)

    def how(self, key: CodeKey) -> str:
        """Returns the instructions for the answer cell."""
        without = ", ".join(key.part.forbid)
        asked = f"complete the code without {without}" if without else "complete the code"
        more = " ".join(key.part.needs)
        return f"{asked}; to check it, run `pip install {more}`" if more else asked

    def definition(self, name: str, key: CodeKey, answer: str | None) -> str:
        """Returns the answer cell: the starter, or a full answer with the imports of the
        starter."""
        if answer is None:
            return _renamed(key.starter, key.part.id, name)
        # The examples in the cell below may need an import that the answer does not use.
        found = re.findall(r"^(?:import|from) .+$", key.starter, re.M)
        missing = [line for line in found if line not in answer.splitlines()]
        return _renamed("\n".join([*missing, answer]), key.part.id, name)

    def try_out(self, name: str, key: CodeKey) -> str:
        """Returns a cell with the visible examples."""
        lines = []
        for call, gives in key.examples:
            mine = _renamed(call, key.part.id, name)
            lines.append(f"print({mine})\n# expected: {' '.join(gives.split())}")
        return "\n".join(lines)

    def form(self, key: CodeKey) -> object:
        """Returns the modules that the starter needs."""
        return list(self.imports(key)) or None

    def imports(self, key: CodeKey) -> tuple[str, ...]:
        """Returns the modules outside the standard library that the starter imports at the top."""
        found = re.findall(r"^(?:import|from) +(\w+)", key.starter, re.M)
        return tuple(name for name in dict.fromkeys(found) if name not in sys.stdlib_module_names)

    def around(self, key: CodeKey) -> Mapping[str, str]:
        """Returns the tools as cells of the notebook."""
        return dict(zip(key.part.tools, key.tools, strict=True))

    def answer(self, key: CodeKey) -> object:
        """Returns the code of the reference solution."""
        return definitions([key.draw.solution], key.part.id)

    def true(self, key: CodeKey) -> Attempt | None:
        """Returns the reference solution; the results of its calls are not known here."""
        return Attempt(source=definitions([key.draw.solution], key.part.id))

    def solved(self, answer: object, key: CodeKey) -> Attempt:  # noqa: ARG002
        """Returns the code that the solution returned."""
        if not isinstance(answer, str):
            raise ValueError(f"{answer!r} is not code")
        return Attempt(source=answer)

    def sheet(self, key: CodeKey) -> Mapping[str, object]:
        """Returns the starter and the visible examples."""
        return {
            "part": key.part.id,
            "starter": key.starter,
            "examples": [list(example) for example in key.examples],
            "closeness": asdict(key.part.closeness),
            "seconds": key.part.seconds,
            **({"needs": list(key.part.needs)} if key.part.needs else {}),
        }

    def from_sheet(self, sheet: Mapping[str, object]) -> CodeKey:
        """Returns a key with only the visible examples."""
        examples, near = sheet["examples"], sheet["closeness"]
        if not isinstance(examples, list) or not isinstance(near, dict):
            raise TypeError("no examples")
        found = tuple((str(call), str(gives)) for call, gives in examples)
        needs = sheet.get("needs")
        asked = needs if isinstance(needs, list) else []
        part = Code(
            id=str(sheet["part"]),
            ask="",
            starter=str(sheet["starter"]),
            examples=tuple(CodeExample(call=c, gives=g) for c, g in found),
            closeness=Closeness(**near),
            seconds=float(str(sheet["seconds"])),
            needs=tuple(name for name in get_args(packages.Package) if name in asked),
        )
        return CodeKey(part=part, draw=UNDRAWN, starter=part.starter, examples=found)

    def literal(self, key: CodeKey) -> str:
        """Returns the code of the reference solution under the part's name."""
        return definitions([key.draw.solution], key.part.id)

    def explain(self, key: CodeKey) -> str:
        """Returns the reference solution as Markdown."""
        return f"A solution:\n\n```python\n{self.literal(key)}\n```"


def _is_untouched(source: str, key: CodeKey) -> bool:
    """Returns whether the code is the starter except for comments and layout.

    Raises NotAnalyzedError.
    """
    if len(source) > analysis.MOST_HERE:  # longer than any starter
        return False
    mine = analysis.definitions([source], key.part.id)
    given = definitions([key.starter], key.part.id)
    return bool(mine) and analysis.shape_of(mine) == analysis.shape_of(given)


def _defines(starter: str, name: str) -> bool:
    return re.search(rf"^(?:def|class) {re.escape(name)}\b", starter, re.M) is not None


def _renamed(source: str, part: str, name: str) -> str:
    """Returns *source* with the part's function renamed to *name*; strings and comments are
    kept."""
    try:
        found = [t for t in tokenize.generate_tokens(io.StringIO(source).readline) if t.string]
    except (tokenize.TokenError, SyntaxError):
        return re.sub(rf"(?<![\w.]){re.escape(part)}\b(?!\s*=[^=])", name, source)
    lines = source.splitlines(keepends=True)
    around = zip([None, *found], found, [*found[1:], None], strict=False)
    for before, token, after in reversed([*around]):
        if token.type != tokenize.NAME or token.string != part:
            continue
        is_keyword = after is not None and after.string == "=" and _inside_call(found, token)
        if (before is not None and before.string == ".") or is_keyword:
            continue
        row, (start, end) = token.start[0] - 1, (token.start[1], token.end[1])
        lines[row] = lines[row][:start] + name + lines[row][end:]
    return "".join(lines)


def _inside_call(tokens: Sequence[tokenize.TokenInfo], one: tokenize.TokenInfo) -> bool:
    """Returns whether *one* is inside brackets, so that a `=` after it names an argument."""
    depth = 0
    for token in tokens:
        if token is one:
            break
        depth += (token.string in "([{") - (token.string in ")]}") if token.string else 0
    return depth > 0


_WANTED = "a function or class"

_WAITS = {
    "cuda": "This needs a GPU and waits for a machine that has one; no points are deducted.",
    **{name: packages.waiting(name) for name in packages.PACKAGES},
}
"""The note for a deferred part, by what it waits for."""

kinds.add("code")(CodeKind())

__all__ = ["Attempt", "Code", "CodeExample", "CodeKey", "CodeKind"]
