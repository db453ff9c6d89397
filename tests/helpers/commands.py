"""Runs the commands of the grader as their users call them."""

from __future__ import annotations

import pytest
from click.testing import CliRunner, Result

from grader.cli import grader, main


def run(*arguments: object) -> Result:
    return CliRunner().invoke(grader, [str(a) for a in arguments], standalone_mode=False)


def ok(*arguments: object) -> Result:
    result = run(*arguments)
    assert result.exception is None, result.exception
    return result


def fails(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    """What a person reads when the command exits 2."""
    with pytest.raises(SystemExit) as stop:
        main([str(a) for a in arguments])
    assert stop.value.code == 2
    text = capsys.readouterr().err
    assert "Traceback" not in text
    assert len(text.splitlines()) < 30
    return text
