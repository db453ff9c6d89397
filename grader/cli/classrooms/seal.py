"""`grader classroom seal`: encrypt a release for runners that have its key."""

from __future__ import annotations

from pathlib import Path

import click

from grader.cli.options import JSON, RELEASE, print_json
from grader.cli.parameters import option, subcommand


@subcommand(
    "seal",
    "grader classroom seal release --out exam.pack",
    "grader classroom seal release --out exam.pack --key-file ~/exam.key",
    "GRADER_PACK_KEY=… grader grade submissions --pack exam.pack --out results",
)
def command(
    release: Path = RELEASE,
    out: Path = option(metavar="PACK", help="File to write."),
    key_file: Path | None = option(
        None,
        metavar="FILE",
        help="File for the key, readable only by you. If it exists, its key is used. Default: "
        "print a new key once.",
    ),
    as_json: bool = JSON,
) -> None:
    """Encrypt a release, with its keys and hidden cases, for a runner that has the key.

    Students may read the pack, but not the key: store it as the runner's secret GRADER_PACK_KEY.
    If you lose the key, seal the release again.
    """
    from grader.release.sealing import seal_release

    sealed = seal_release(release, out, key_file)
    if as_json:
        data: dict[str, object] = {
            "pack": str(out),
            "release": sealed.release,
            "bytes": sealed.bytes,
        }
        shown = {"key_file": str(key_file)} if key_file else {"key": sealed.key.text}
        print_json({**data, **shown, "new_key": sealed.new_key})
        return
    text = f"Sealed release {sealed.release} in {out} ({sealed.bytes} bytes)."
    click.echo(text, err=key_file is None)
    if key_file is None:
        click.echo("Store its key as the secret GRADER_PACK_KEY; it is shown only once:", err=True)
        click.echo(sealed.key.text)
    elif sealed.new_key:
        click.echo(f"Wrote its key to {key_file}. Store it as the secret GRADER_PACK_KEY.")
    else:
        click.echo(f"Used the existing key in {key_file}.")
