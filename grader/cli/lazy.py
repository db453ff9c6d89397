"""Groups of commands whose modules are loaded only when a command is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

from grader.errors import GraderError


class LazyGroup(click.Group):
    """Finds each command in a module of its own.

    *sentences* has each command with what `--help` says of it, *module* the name of a module with
    a place for the command's, and *noun* is what a person calls a command of this group.
    """

    def __init__(
        self, *args: Any, sentences: Mapping[str, str], module: str, noun: str, **others: Any
    ):
        super().__init__(*args, **others)
        self._sentences = sentences
        self._module = module
        self._noun = noun

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """In the order of the sentences."""
        return list(self._sentences)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """The command, from its module."""
        if cmd_name not in self._sentences:
            return None
        module = import_module(self._module.format(cmd_name.replace("-", "_")))
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Raises GraderError with the nearest name for one that does not exist."""
        from grader.registry import nearest

        known = self._sentences if args and args[0] in self._sentences else self.list_commands(ctx)
        if args and args[0] not in known and not args[0].startswith("-"):
            close = nearest(args[0], known)
            path = ctx.command_path
            fix = f"did you mean '{path} {close}'?" if close else f"see `{path} --help`"
            raise GraderError(f"there is no {self._noun} '{args[0]}'", fix=fix)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """From the sentences, so that no module is loaded for it."""
        rows = [(name, self._sentences.get(name, "")) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(rows)
