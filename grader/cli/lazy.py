"""Command groups that load a command's module only when the command is used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from grader.cli.completion import complete_ids
from grader.errors import GraderError

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class LazyGroup(click.Group):
    """A click group whose commands are loaded from modules of a package.

    *sentences* maps each command to its help text, *package* has a module for each command, or
    the modules that *modules* names. A module has one `command`, or a `NAME_command` for each.
    *noun* is the word for a command in messages, and *groups* maps headings of `--help` to
    commands.
    """

    def __init__(
        self,
        *args: Any,
        sentences: Mapping[str, str],
        package: str,
        noun: str,
        modules: Mapping[str, str] | None = None,
        groups: Mapping[str, Sequence[str]] | None = None,
        **others: Any,
    ):
        super().__init__(*args, **others)
        self._sentences = sentences
        self._package = package
        self._modules = modules or {}
        self._noun = noun
        self._groups = groups or {}

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Returns the names of the commands, in the order of the help texts."""
        return list(self._sentences)

    def sentence(self, name: str) -> str:
        """Returns the help text of the command *name*."""
        return self._sentences.get(name, "")

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Returns the command, imported from its module; None if it does not exist."""
        if cmd_name not in self._sentences:
            return None
        name = cmd_name.replace("-", "_")
        module = import_module(f"{self._package}.{self._modules.get(cmd_name, name)}")
        command: click.Command = getattr(module, f"{name}_command", None) or module.command
        complete_ids(command)
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Returns completions from the help texts, without loading any module."""
        from click.shell_completion import CompletionItem

        if incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        return [
            CompletionItem(name, help=self.sentence(name))
            for name in self.list_commands(ctx)
            if name.startswith(incomplete)
        ]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Raises GraderError, with the nearest name, if the command does not exist."""
        from grader.registry import nearest

        names = self.list_commands(ctx)
        if args and args[0] not in names and not args[0].startswith("-"):
            similar = nearest(args[0], names)
            path = ctx.command_path
            fix = f"did you mean '{path} {similar}'?" if similar else f"see `{path} --help`"
            raise GraderError(f"there is no {self._noun} '{args[0]}'", fix=fix)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the commands from the help texts, without loading any module."""
        names = self.list_commands(ctx)
        grouped = {name for group in self._groups.values() for name in group}
        others = [name for name in names if name not in grouped]
        width = max(map(len, names))
        for title, group in {**self._groups, "Commands": others}.items():
            rows = [(n.ljust(width), self.sentence(n)) for n in group if n in names]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)
