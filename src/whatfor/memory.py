"""Warn before something outgrows the memory of the machine."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath

from whatfor.text import amount

#: Less than this is never worth a warning.
MIN_BYTES = 1 << 28
#: Where the system says which control groups this process is in, and where it lists them.
MEMBERSHIPS, GROUPS = "/proc/self/cgroup", "/sys/fs/cgroup"
#: The files of a control group with its limit and its use, and the entry of memory.stat for files that are cached, by version.
FIRST = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
SECOND = ("memory.max", "memory.current", "inactive_file")


def available_bytes() -> int | None:
    """Memory that is left, to this machine and its control groups; None where the system does not say."""
    left = []
    with suppress(OSError, ValueError, KeyError):
        left.append(int(_numbers("/proc/meminfo")["MemAvailable:"]) * 1024)
    for folder, most, used, cached in _groups():
        with suppress(OSError, ValueError):  # "max": no limit
            free = int((folder / most).read_text()) - int((folder / used).read_text())
            left.append(free + _cached_bytes(folder, cached))
    return min(left) if left else None


def _groups() -> Iterator[tuple[Path, str, str, str]]:
    """The control groups of this process, and the groups that they are in: a folder, and the names of limit, use and cached files.

    A batch system limits a group below the root; in a container, the root is the container's own.
    """
    with suppress(OSError, ValueError):
        for line in Path(MEMBERSHIPS).read_text().splitlines():
            _, controllers, own = line.split(":", 2)
            first = "memory" in controllers.split(",")  # version 1 has a tree for each resource, version 2 a single one
            if first or not controllers:
                root = Path(GROUPS) / ("memory" if first else "")
                names = FIRST if first else SECOND
                inside = PurePosixPath(own.lstrip("/"))
                for group in (inside, *inside.parents):
                    yield root / group, *names


def _cached_bytes(folder: Path, entry: str) -> int:
    """Files that were read and are kept while nobody else needs the memory: it counts as used by a control group, and is free."""
    with suppress(OSError, ValueError, KeyError):
        return int(_numbers(folder / "memory.stat")[entry])
    return 0


def _numbers(path: str | Path) -> dict[str, str]:
    """The first two words of each line of a file."""
    rows = (line.split() for line in Path(path).read_text().splitlines())
    return {row[0]: row[1] for row in rows if len(row) > 1}


class MemoryWatch:
    """Warns, once, before something that grows outgrows the memory; it looks again after some growth, since that takes time."""

    def __init__(self) -> None:
        self.warned = False
        self._next: dict[str, int] = {}  # the size from which to look again

    def check(self, what: str, n_bytes: int, remedy: str) -> None:
        """Warn if something that has so many bytes could not double."""
        if self.warned or n_bytes < self._next.get(what, MIN_BYTES):
            return
        self._next[what] = n_bytes + MIN_BYTES // 4
        left = available_bytes()
        if left is not None and left < n_bytes:
            self.warned = True
            size, room = (f"{amount(n / (1 << 30))} GiB" for n in (n_bytes, max(0, left)))
            warnings.warn(f"{what} takes {size}, and {room} of memory are left: {remedy}", stacklevel=3)
