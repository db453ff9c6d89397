"""`grader classroom seal`: a release for runners that hold its key."""

from __future__ import annotations

from pathlib import Path

import click

from grader.cli.options import examples, json_option, print_json, release_argument


@click.command(
    "seal",
    epilog=examples(
        "grader classroom seal release --out exam.pack",
        "grader classroom seal release --out exam.pack --key-file ~/exam.key",
        "GRADER_PACK_KEY=… grader grade submissions --pack exam.pack --out results",
    ),
)
@release_argument
@click.option(
    "--out", required=True, type=click.Path(path_type=Path), metavar="PACK", help="File to write."
)
@click.option(
    "--key-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="File for the key, readable by you alone. If it holds a key already, that key is used. "
    "Default: print a new key once.",
)
@json_option
def command(release: Path, out: Path, key_file: Path | None, as_json: bool) -> None:
    """Encrypt a release, with its keys and hidden cases, for a runner that holds the key.

    Students may read the pack, but never the key: store the key as a secret of the runner named
    GRADER_PACK_KEY. If you lose the key, seal the release again.
    """
    from grader.release.sealing import seal_release

    done = seal_release(release, out, key_file)
    if as_json:
        data: dict[str, object] = {"pack": str(out), "release": done.release, "bytes": done.bytes}
        shown = {"key_file": str(key_file)} if key_file else {"key": done.key.text}
        print_json({**data, **shown, "new_key": done.new_key})
        return
    click.echo(f"{out}: release {done.release}, sealed, {done.bytes} bytes", err=key_file is None)
    if key_file is None:
        click.echo("Its key, shown this once; store it as the secret GRADER_PACK_KEY:", err=True)
        click.echo(done.key.text)
    elif done.new_key:
        click.echo(f"{key_file}: its key; store it as the secret GRADER_PACK_KEY")
    else:
        click.echo(f"sealed with the key that was in {key_file}")
