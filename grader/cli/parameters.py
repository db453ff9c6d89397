"""Makes commands of functions whose parameters say what the command takes.

A parameter without a default is an argument. One whose default is an `option` is an option with the
name of the parameter, unless it has flags of its own.
"""

from __future__ import annotations

import inspect
import math
import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, get_args, get_origin

import click

FILE = click.Path(path_type=Path, dir_okay=False)
FOLDER = click.Path(path_type=Path, file_okay=False)
EXISTING = click.Path(path_type=Path, exists=True)
EXISTING_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
EXISTING_FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)
_METAVARS = {
    FILE: "FILE", EXISTING_FILE: "FILE", FOLDER: "DIR", EXISTING_FOLDER: "DIR", int: "N",
}  # fmt: skip
"""What stands for a value in the help, by its type."""
REQUIRED = MISSING
"""The default of an option that is required and has flags of its own."""


@dataclass(frozen=True, slots=True)
class Declared:
    """The default of a parameter of a command's function."""

    parameter: type[click.Parameter]
    default: Any
    flags: tuple[str, ...]
    about: Mapping[str, Any]


def option(default: Any = REQUIRED, *flags: str, **about: Any) -> Any:
    """Returns the default of a parameter that is an option; without *default*, it is required.

    The type of the parameter is that of the value, a tuple if the option may be repeated, and bool
    for a flag. `least` and `most` in *about* limit a number; the others are those of
    `click.Option`. The help shows a default that is a number or a text.
    """
    return Declared(click.Option, default, flags, about)


def argument(default: Any = REQUIRED, **about: Any) -> Any:
    """Returns the default of a parameter that is an argument; *about* is that of `click.Argument`.

    It is not needed for an argument that has only a name and a type.
    """
    return Declared(click.Argument, default, (), about)


def subcommand(
    name: str, *examples: str, group: click.Group | None = None, **about: Any
) -> Callable[[Callable[..., object]], click.Command]:
    """Returns a decorator that makes the command *name* of a function, and adds it to *group*.

    The help is the docstring, with the command lines *examples* below it. *about* are further
    arguments of `click.Command`.
    """

    def make(function: Callable[..., object]) -> click.Command:
        signature = inspect.signature(function, eval_str=True)
        params = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        command = click.Command(
            name,
            callback=function,
            params=[_make_parameter(param) for param in params],
            help=inspect.getdoc(function),
            epilog=example_lines(*examples),
            **about,
        )
        if group is not None:
            group.add_command(command)
        return command

    return make


def example_lines(*lines: str) -> str:
    """Returns the epilog of a command's help, with examples."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def _make_parameter(param: inspect.Parameter) -> click.Parameter:
    """Returns the argument or the option of click that *param* of a function stands for."""
    declared: Declared = argument() if param.default is param.empty else param.default
    if declared.parameter is click.Option:
        return make_option(param.name, param.annotation, declared)
    about, hint = dict(declared.about), without_none(param.annotation)
    if get_origin(hint) is tuple:
        hint, about["nargs"] = get_args(hint)[0], -1
    elif declared.default is not REQUIRED:
        about["default"] = declared.default
    else:
        about["required"] = hint is param.annotation
    about.setdefault("type", _value_type(hint))
    return click.Argument([param.name], **about)


def make_option(name: str, hint: Any, declared: Declared) -> click.Option:
    """Returns the option of the parameter *name* with the type *hint*, as *declared*."""
    about, hint, flag = dict(declared.about), without_none(hint), f"--{name.replace('_', '-')}"
    if hint is bool:
        about["is_flag"] = True
        flag += f"/--no-{flag[2:]}" if declared.default is True else ""
    elif get_origin(hint) is tuple:
        hint, about["multiple"] = get_args(hint)[0], True
    bounds = about.pop("least", None), about.pop("most", None)
    about.setdefault("type", _value_type(hint, *bounds))
    if (word := _METAVARS.get(hint if hint is int else about["type"])) is not None:
        about.setdefault("metavar", word)
    if declared.default is REQUIRED:  # to click, one with the default None would never be missing
        about["required"] = True
    else:
        is_value = isinstance(declared.default, int | float | str) and declared.default != ""
        is_shown = is_value and hint is not bool
        about = {"default": declared.default, "show_default": is_shown, **about}
    return click.Option([*(declared.flags or (flag,)), name], **about)


def without_none(hint: Any) -> Any:
    """Returns the type Path of the hint `Path | None`, and other hints as they are."""
    if get_origin(hint) is types.UnionType:
        return next(arg for arg in get_args(hint) if arg is not type(None))
    return hint


def _value_type(hint: type, least: Any = None, most: Any = None) -> click.ParamType[Any]:
    """Returns the type of click for values of type *hint*, from *least* to *most*."""
    if issubclass(hint, StrEnum):
        return click.Choice([member.value for member in hint])
    if hint is Path:
        return click.Path(path_type=Path)
    if hint is int:
        has_range = least is not None or most is not None
        return _WholeNumberRange(min=least, max=most) if has_range else _WholeNumber()
    if hint is float:
        return _Number() if least is None and most is None else _NumberRange(min=least, max=most)
    return click.types.convert_type(hint)


# The names of the types in click's messages: "'abc' is not a valid whole number".
class _WholeNumber(click.types.IntParamType):
    name = "whole number"


class _WholeNumberRange(click.IntRange):
    name = "whole number"


class _Finite:
    """Refuses infinity and not-a-number, which pass every comparison with a limit or none."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Returns *value* as a finite number."""
        number = super().convert(value, param, ctx)  # type: ignore[misc]
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a valid number.", param, ctx)  # type: ignore[attr-defined]
        return number


class _Number(_Finite, click.types.FloatParamType):
    pass


class _NumberRange(_Finite, click.FloatRange):
    pass
