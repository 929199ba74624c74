"""Control groups on this machine, seen while others come and go."""

from __future__ import annotations

import fnmatch
import os
from pathlib import Path


def groups(pattern: str) -> list[Path]:
    """Those of such names. Not by `rglob`: it fails when a group of somebody else ends as it is looked into."""
    walked = os.walk("/sys/fs/cgroup")
    return sorted(Path(folder, name) for folder, names, _ in walked for name in fnmatch.filter(names, pattern))
