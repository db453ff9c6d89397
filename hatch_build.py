"""The README as a package index shows it, where there are no files to link to."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_IMAGE = re.compile(r"^!\[[^\]]*\]\((?!https?:)[^)]*\)\n+", re.M)
_PICTURES = re.compile(r"^\|.*\n\|[-|]+\n\| !\[.*\n+", re.M)  # a table with a row of images
_LINK = re.compile(r"\[([^\]]+)\]\((?!https?:|#)[^)]*\)")


class CustomMetadataHook(MetadataHookInterface):  # type: ignore[misc]
    """Fills in `project.readme`."""

    def update(self, metadata: dict[str, Any]) -> None:
        """README.md without its images, and with relative links as plain text."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        text = _LINK.sub(r"\1", _IMAGE.sub("", _PICTURES.sub("", text)))
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
