"""What a worker detects besides exceptions: files written elsewhere, and memory."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

#: Audit events that change the file system, and which of their arguments are paths.
CHANGING = {
    "os.mkdir": (0,), "os.rename": (0, 1), "os.remove": (0,), "os.rmdir": (0,), "os.link": (0, 1), "os.symlink": (0, 1),
    "os.truncate": (0,), "os.chmod": (0,), "os.chown": (0,), "shutil.rmtree": (0,), "shutil.move": (0, 1), "shutil.copyfile": (1,),
}  # fmt: skip
#: Events that no run may cause.
FORBIDDEN = (
    "subprocess.Popen",
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "socket.connect",
    "socket.bind",
    "urllib.Request",
    "webbrowser.open",
)
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class Watch:
    """Records writes outside the given folders while it is on. One instance, since Python's audit hooks cannot be removed."""

    def __init__(self, *allowed: Path) -> None:
        self.allowed = tuple(os.path.realpath(path) for path in allowed)
        self.on = False
        self.found: list[str] = []
        sys.addaudithook(self._hook)

    def _hook(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not self.on:
            return
        if event == "open":
            path, _, flags = arguments
            writes = bool(flags & WRITING)
            if writes:
                self._check(event, path, follows=not flags & (os.O_EXCL | os.O_NOFOLLOW))
        elif event in CHANGING:
            for at in CHANGING[event]:
                if len(arguments) > at:
                    self._check(event, arguments[at])
        elif event in FORBIDDEN or (event == "import" and arguments[0] == "bait"):
            self.found.append(f"{event} {str(arguments)[:100]}")

    def _check(self, event: str, path: Any, *, follows: bool = False) -> None:
        if isinstance(path, int | None):
            return
        self.on = False  # realpath below must not be noted itself
        try:
            text = os.fsdecode(path)
            folder, name = os.path.split(text)
            real = os.path.realpath(text) if follows else os.path.join(os.path.realpath(folder or "."), name)
            if text != os.devnull and not any(real == root or real.startswith(root + os.sep) for root in self.allowed):
                self.found.append(f"{event} {text[:100]}")
        except (ValueError, TypeError):
            pass
        finally:
            self.on = True


def memory() -> dict[str, int]:
    """Memory in megabytes, now and at its peak since ``forget_peak``."""
    status = Path("/proc/self/status").read_text()
    found = {line.split(":")[0]: int(line.split()[1]) // 1024 for line in status.splitlines() if line.startswith("Vm")}
    return {"now": found["VmRSS"], "peak": found["VmHWM"]}


def forget_peak() -> None:
    """Reset the peak."""
    Path("/proc/self/clear_refs").write_text("5")
