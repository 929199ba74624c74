"""Packages that came while the kernel runs: kept in a folder of their own, behind everything else on the path."""

from __future__ import annotations

import importlib
import sys
import tempfile
from pathlib import Path

from cellwright_guest import wire


class Additions:
    """The folder, made when the first file comes."""

    def __init__(self) -> None:
        self._folder: Path | None = None

    def take(self, asked: wire.AddFiles) -> wire.FilesAdded:
        """Put the files there; imports that are tried from now on find them."""
        try:
            folder = self._folder = self._folder or Path(tempfile.mkdtemp(prefix="packages-"))
            for path, content in asked.files.items():
                place = folder / path
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(content)
        except OSError as error:
            return wire.FilesAdded(request=asked.request, error=f"{error.strerror or error}")
        if str(folder) not in sys.path:
            sys.path.append(str(folder))
        importlib.invalidate_caches()
        return wire.FilesAdded(request=asked.request)
