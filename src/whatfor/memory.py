"""Warn before something outgrows the memory of the machine."""

from __future__ import annotations

import warnings
from contextlib import suppress
from pathlib import Path

from whatfor.text import amount

#: Less than this is never worth a warning.
MIN_BYTES = 1 << 28
#: The memory that a control group allows and uses, in its second and its first version.
GROUPS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
)


def available_bytes() -> int | None:
    """Memory that is left, to this machine and its control group; None where the system does not say."""
    left = []
    with suppress(OSError, ValueError):
        lines = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
        left.append(int(lines["MemAvailable"].split()[0]) * 1024)
    for most, used in GROUPS:
        with suppress(OSError, ValueError):  # "max": no limit
            left.append(int(Path(most).read_text()) - int(Path(used).read_text()))
    return min(left) if left else None


def warn_if_short(what: str, n_bytes: int, remedy: str) -> bool:
    """Warn if something that has so many bytes could not double; returns whether it did."""
    left = available_bytes() if n_bytes >= MIN_BYTES else None
    if left is None or left >= n_bytes:
        return False
    size, room = (f"{amount(n / (1 << 30))} GiB" for n in (n_bytes, max(0, left)))
    warnings.warn(f"{what} takes {size}, and {room} of memory are left: {remedy}", stacklevel=2)
    return True
