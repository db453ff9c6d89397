"""`grader doctor`: what this machine offers."""

from __future__ import annotations

import click

from grader.cli.options import examples, json_option, print_json


@click.command("doctor", epilog=examples("grader doctor", "grader doctor --json"))
@click.option("--kernel/--no-kernel", default=True, help="Start a kernel and time it.")
@json_option
def command(kernel: bool, as_json: bool) -> int:
    """Say what this machine offers: interpreter, packages, kernels, sandbox layers, devices.

    Exits 1 when notebooks can't be graded here.
    """
    from grader.pipeline.doctor import examine

    found = examine(kernel=kernel)
    if as_json:
        print_json([{"what": f.what, "ok": f.ok, "seen": f.seen, "fix": f.fix} for f in found])
    else:
        width = max(len(f.what) for f in found)
        for f in found:
            sign = {True: "ok  ", False: "FAIL", None: "--  "}[f.ok]
            click.echo(f"{sign} {f.what.ljust(width)}  {f.seen}")
            if f.fix:
                click.echo(f"     {' ' * width}  fix: {f.fix}")
    return 1 if any(f.ok is False for f in found) else 0
