"""The browser that tests, benchmarks and screenshots use; as a script, it gets one where there is none (`make browser`)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

#: Names a browser to use instead of those that are found: a path, or a command.
VARIABLE = "WHATFOR_BROWSER"
COMMANDS = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "microsoft-edge",
    "microsoft-edge-stable",
    "msedge",
)
#: Where browsers are that are not on the path: macOS, then Windows.
APPLICATIONS = (
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
    "${ProgramFiles}/Google/Chrome/Application/chrome.exe",
    "${ProgramFiles(x86)}/Google/Chrome/Application/chrome.exe",
    "${LocalAppData}/Google/Chrome/Application/chrome.exe",
    "${ProgramFiles(x86)}/Microsoft/Edge/Application/msedge.exe",
    "${ProgramFiles}/Microsoft/Edge/Application/msedge.exe",
)
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
START_MS = 30_000


class NoBrowser(RuntimeError):
    """No browser starts here; the message says which were tried."""


@contextmanager
def chromium() -> Iterator[Any]:
    """A headless browser: the first of those found that starts."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = _start(playwright)
        yield browser
        browser.close()


def candidates(downloaded: str) -> list[str]:
    """The browsers on this machine, Playwright's own last; or the one that the environment variable names."""
    named = os.environ.get(VARIABLE)
    if named:
        return [shutil.which(named) or named]
    on_path = [found for command in COMMANDS if (found := shutil.which(command))]
    places = [*map(os.path.expandvars, APPLICATIONS), downloaded]
    return [*on_path, *(place for place in places if Path(place).is_file())]


def _start(playwright: Any) -> Any:
    from playwright.sync_api import Error

    broken = []
    for path in candidates(playwright.chromium.executable_path):
        try:
            return playwright.chromium.launch(executable_path=path, args=FLAGS, timeout=START_MS)
        except Error:
            broken.append(path)
    raise NoBrowser(f"no browser ({', '.join(broken)} did not start)" if broken else "no browser")


def found() -> str | None:
    """The version of the browser that starts; None: there is none."""
    try:
        with chromium() as browser:
            return str(browser.version)
    except NoBrowser as none:
        print(f"make browser: {none}", flush=True)
        return None


def main() -> None:
    """Get a browser where none starts: Debian's package as root, else Playwright's download."""
    if version := found():
        print(f"make browser: Chromium {version} starts, so there is nothing to do")
        return
    python = sys.executable
    ways = [[[python, "-m", "playwright", "install", "chromium"]]]
    if shutil.which("apt-get") and os.geteuid() == 0:
        install = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", "chromium"]
        ways.insert(0, [["apt-get", "update", "-qq"], install])
    for commands in ways:
        for command in commands:
            print(f"make browser: {' '.join(command)}", flush=True)
            if subprocess.run(command, check=False).returncode:
                break
        else:
            if version := found():
                print(f"make browser: Chromium {version} starts")
                return
    sys.exit(
        "make browser: still no browser that starts. Install Chromium, Chrome or Edge, or set "
        f"{VARIABLE} to one; libraries that Playwright's download lacks: sudo {python} -m playwright install-deps chromium"
    )


if __name__ == "__main__":
    main()
