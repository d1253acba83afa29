"""Build hook of hatchling: the README as package indexes show it, with links to the repository."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_RELATIVE = re.compile(r"(!?)\[([^\]]*)\]\((?!https?://|#)([^)\s]+)\)")


def absolute_links(text: str, repository: str) -> str:
    """Return a page of the repository's top folder with absolute links: `blob` shows a page, `raw` gives a picture."""
    return _RELATIVE.sub(
        lambda link: f"{link[1]}[{link[2]}]({repository.rstrip('/')}/{'raw' if link[1] else 'blob'}/main/{link[3]})",
        text,
    )


class PublishedReadme(MetadataHookInterface):
    """Sets `readme` from README.md and `project.urls.Repository`."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the README to the metadata of the package."""
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        readme = absolute_links(text, metadata["urls"]["Repository"])
        metadata["readme"] = {"content-type": "text/markdown", "text": readme}
