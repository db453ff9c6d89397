"""Changelog fragments are list items, and a release moves them into CHANGELOG.md."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
spec = importlib.util.spec_from_file_location("collect", ROOT / "changelog.d" / "collect.py")
assert spec is not None
assert spec.loader is not None
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)


def test_fragments_are_list_items() -> None:
    for path in (ROOT / "changelog.d").glob("*.md"):
        if path.name != "README.md":
            assert path.read_text(encoding="utf-8").startswith("- "), path.name


def test_fragments_are_moved_to_the_top(tmp_path: Path) -> None:
    changelog, folder = tmp_path / "CHANGELOG.md", tmp_path / "changelog.d"
    changelog.write_text("# Changelog\n\n## 0.1.0, 2026-01-01\n\n- Old.\n")
    folder.mkdir()
    (folder / "README.md").write_text("# Fragments\n")
    (folder / "b.md").write_text("- Two.\n")
    (folder / "a.md").write_text("- One,\n  long.\n")
    assert module.collect(folder, changelog, "0.2.0", "2026-02-02") == 2
    assert changelog.read_text() == (
        "# Changelog\n\n## 0.2.0, 2026-02-02\n\n- One,\n  long.\n- Two.\n"
        "\n## 0.1.0, 2026-01-01\n\n- Old.\n"
    )
    assert [path.name for path in folder.iterdir()] == ["README.md"]
    assert module.collect(folder, changelog, "0.3.0", "2026-03-03") == 0


def test_text_that_is_not_a_list_item_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("One.\n")
    (tmp_path / "CHANGELOG.md.txt").write_text("# Changelog\n")
    with pytest.raises(ValueError, match="start the text"):
        module.collect(tmp_path, tmp_path / "CHANGELOG.md.txt", "0.2.0", "2026-02-02")
    assert (tmp_path / "a.md").exists()
