"""Loads problems, sets, and facts of one or more banks on demand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from grader.bank.exam_set import load_exam
from grader.bank.facts import BankFacts
from grader.bank.families import declared_families
from grader.bank.heads import Head, heads_of
from grader.bank.index import BankIndex
from grader.bank.parts import check_draw, mentioned_parts
from grader.bank.problem import digest_of, load_problem
from grader.bank.statistics import PartStatistics, combine_terms, find_terms
from grader.bank.yaml12 import Located
from grader.errors import Location, SpecError, SpecErrors
from grader.kinds import kinds
from grader.model import Blueprint, ExamSet, Problem, Slot
from grader.registry import suggest


@dataclass(frozen=True)
class Bank(BankIndex):
    """Banks whose problems, sets, and facts can be loaded."""

    _problems: dict[str, tuple[Problem, Located]] = field(default_factory=dict, repr=False)
    _heads: dict[str, Head] = field(default_factory=dict, repr=False)

    @cached_property
    def facts(self) -> BankFacts:
        """The facts of all banks; items of earlier banks override later ones."""
        return BankFacts([folder / "problems" / "facts" for folder in reversed(self.folders)])

    def problem(self, wanted: str) -> Problem:
        """Returns the problem with the id or path *wanted*; raises SpecErrors or SetupError."""
        return self.locate(wanted)[0]

    def locate(self, wanted: str) -> tuple[Problem, Located]:
        """Returns the problem with the id or path *wanted*, and its data with locations."""
        if wanted not in self._problems:
            path = self.path(wanted)
            problem, source = load_problem(path, self._families_at(path))
            folder = path.resolve().parent.name
            if wanted in self.paths and folder != problem.family:
                what = f"the family '{problem.family}' is not the folder name '{folder}'"
                fix = "move the file, or change the family"
                raise SpecErrors((source.error(("family",), what, fix),))
            self._problems[wanted] = self._add_solution(wanted, problem, source)
        return self._problems[wanted]

    def _families_at(self, path: Path) -> Mapping[str, str]:
        """Returns the families of these banks, and of the bank that contains the file *path*."""
        return {**declared_families(path.absolute().parent.parent.parent)[0], **self.families}

    def _add_solution(
        self, wanted: str, problem: Problem, source: Located
    ) -> tuple[Problem, Located]:
        """Returns *problem*, with the text of its solution if a part needs hidden cases, and
        *source*. Raises SpecErrors if the problem has no such file."""
        if not any(kinds.find(p.kind).needs_solution for p in problem.parts):
            return problem, source
        path = self.solution(wanted)
        if path is None:
            what = "a part needs hidden cases, but there is no solution file"
            fix = f"write solutions/{problem.family}/{problem.id}.py"
            raise SpecErrors((source.error(("parts",), what, fix),))
        return replace(problem, solution=_read_solution(path)), source

    def problems(self) -> Iterator[Problem]:
        """Yields all problems of the named banks; raises SpecErrors with the errors of all
        files."""
        errors: list[SpecError] = []
        loaded: list[Problem] = []
        for name in self.listed_problems:
            try:
                loaded.append(self.problem(name))
            except SpecError as wrong:
                errors += wrong.errors
        if errors:
            raise SpecErrors(tuple(errors))
        yield from loaded

    def digest(self, wanted: str) -> str:
        """Returns the SHA-256 of the problem's spec."""
        problem, source = self.locate(wanted)
        return digest_of(source.data, problem.solution)

    def exam(self, wanted: str) -> ExamSet:
        """Returns the set with the id or YAML path *wanted*; raises SpecError or SetupError."""
        path = self.set_path(wanted)
        exam, source = load_exam(path, self.paths, self.bank_names)
        for index, slot in enumerate(exam.slots):
            self._check_parts(slot, source.at(("problems", index)))
        blueprint = exam.blueprint
        return exam if blueprint is None else self._fill(exam, blueprint, source)

    def _fill(self, exam: ExamSet, blueprint: Blueprint, source: Located) -> ExamSet:
        """Returns the set with its blueprint filled; raises SpecErrors."""
        from grader.bank.blueprint import fill_blueprint
        from grader.bank.blueprint.checks import check_names

        listed = self.heads(exam.problem_ids)
        heads = self._heads_from(Path(source.file).absolute().parent.parent.parent).values()
        errors = tuple(check_names(blueprint, source, heads, self.families, self.paths))
        if errors:
            raise SpecErrors(errors)
        return fill_blueprint(exam, blueprint, source, heads, listed)

    def _heads_from(self, home: Path) -> Mapping[str, Head]:
        """Returns the heads of the problems that a blueprint in the bank *home* draws from: those
        of the named banks, or those of *home* if it is not one of them."""
        own = {folder for folder in self.folders if folder.resolve() == home.resolve()}
        if not own or own <= set(self.named_folders):
            return self.heads(self.listed_problems)
        inside = (n for n, path in self.paths.items() if path.parent.parent.parent in own)
        return self.heads(inside)

    def heads(self, names: Iterable[str]) -> Mapping[str, Head]:
        """Returns the heads of the problems in *names*; raises SpecErrors with all errors."""
        names = tuple(names)
        heads, errors = heads_of(self, [n for n in names if n not in self._heads], self.problem)
        if errors:
            raise SpecErrors(errors)
        self._heads.update({head.id: self._add_means(head) for head in heads})
        return {name: self._heads[name] for name in names}

    def statistics(self, problem: Head | Problem) -> Mapping[str, PartStatistics]:
        """Returns the statistics of each part over all terms in which students answered the
        current spec; raises SpecError."""
        terms = find_terms(self, problem.id, problem.family) if problem.id in self.paths else ()
        return combine_terms(terms, self.digest(problem.id)) if terms else {}

    def _add_means(self, head: Head) -> Head:
        """Returns *head* with the known means of its parts in earlier terms."""
        by_id = self.statistics(head)
        if not by_id:
            return head
        parts = (replace(p, mean=by_id[p.id].mean if p.id in by_id else None) for p in head.parts)
        return replace(head, parts=tuple(parts))

    def _check_parts(self, slot: Slot, where: Location) -> None:
        """Raises SpecError for parts that do not exist, or that use a part that is not asked, and
        for pools of parts that can't be drawn from."""
        if slot.draw and slot.problem:
            check_draw(self.problem(slot.problem), slot, where)
        for problem in slot.problem_ids:
            if slot.parts_of(problem):
                self._check_chosen_parts(problem, slot.parts_of(problem), where)

    def _check_chosen_parts(self, problem: str, chosen: tuple[str, ...], where: Location) -> None:
        """Raises SpecError if *problem* lacks one of the *chosen* parts, or if one of them uses or
        mentions a part that is not chosen."""
        parts = {part.id: part for part in self.heads([problem])[problem].parts}
        for name in chosen:
            if name not in parts:
                fix = suggest(name, parts, "it has: " + ", ".join(parts))
                raise SpecError(f"'{problem}' has no part '{name}'", where=where, fix=fix)
            missing_uses = [used for used in parts[name].uses if used not in chosen]
            if missing_uses:
                raise SpecError(
                    f"part '{name}' of '{problem}' uses '{missing_uses[0]}', which is not asked",
                    where=where,
                    fix=f"add '{missing_uses[0]}' to 'parts:'",
                )
        for name, letter, mentioned in mentioned_parts(self.problem(problem)):
            if name in chosen and mentioned not in chosen:
                raise SpecError(
                    f"part '{name}' of '{problem}' mentions part ({letter}), '{mentioned}', which "
                    "is not asked",
                    where=where,
                    fix=f"add '{mentioned}' to 'parts:', or omit '{name}'",
                )


def _read_solution(solution: Path) -> str:
    """Returns the text of the file *solution*. Raises SpecErrors if it can't be read as UTF-8."""
    try:
        return solution.read_text(encoding="utf-8")
    except OSError as error:
        reason = (error.strerror or "").lower()
        what, fix = f"can't read the solution: {reason}", "check the file and its permissions"
    except UnicodeDecodeError:
        what, fix = "the solution is not UTF-8", "save the file as UTF-8"
    raise SpecErrors((SpecError(what, where=Location(str(solution)), fix=fix),))
