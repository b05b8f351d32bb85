"""Build the wheel, install it into an empty virtual environment outside the source tree, and try it there: `make wheel`."""

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CONSTRAINTS = ROOT / "constraints.txt"


def main() -> None:
    """One environment with the extras for pictures and explorer, one without any."""
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        build = environment(here / "build")
        run(build, "-m", "pip", "install", "--quiet", "--constraint", CONSTRAINTS, "build")
        run(build, "-m", "build", "--outdir", here / "dist", ROOT)  # the wheel is built from the source distribution
        (wheel,) = (here / "dist").glob("*.whl")
        for name, extras in (("extras", "[plot,explore]"), ("plain", "")):
            python = environment(here / name)
            run(python, "-m", "pip", "install", "--quiet", "--constraint", CONSTRAINTS, f"{wheel}{extras}")
            work = here / f"{name}-work"
            work.mkdir()
            print(f"== {wheel.name}{extras}", flush=True)
            run(python, "-W", "error", ROOT / ".ci" / "try_wheel.py", name, cwd=work)
            run(python, "-m", "whatfor", "--version", cwd=work)
        (ROOT / "dist").mkdir(exist_ok=True)
        (ROOT / "dist" / wheel.name).write_bytes(wheel.read_bytes())
    print(f"dist/{wheel.name}")


def environment(folder: Path) -> Path:
    """The Python of an empty virtual environment."""
    venv.create(folder, with_pip=True)
    return folder / ("Scripts" if os.name == "nt" else "bin") / "python"


def run(*command: object, cwd: Path | None = None) -> None:
    """Run a command without this process's paths; its failure is ours."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    if code := subprocess.run([str(one) for one in command], cwd=cwd, env=clean, check=False).returncode:
        sys.exit(code)


if __name__ == "__main__":
    main()
