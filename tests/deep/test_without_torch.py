"""PyTorch is an extra: nobody pays for it who does not ask, and who asks is told what to install."""

from __future__ import annotations

import subprocess
import sys

HIDE = """
import sys
for name in ({hidden}):
    sys.modules[name] = None
"""


def ran(code: str, *hidden: str) -> subprocess.CompletedProcess[str]:
    hide = HIDE.format(hidden="".join(f"{name!r}, " for name in hidden))
    return subprocess.run([sys.executable, "-c", hide + code], capture_output=True, text=True, check=False)


def test_whatfor_does_not_import_torch() -> None:
    code = "import whatfor, whatfor.cli, whatfor.deep, whatfor.paper; whatfor.train, whatfor.Run, whatfor.load\n"
    told = ran(code + "print([name for name in ('torch', 'stable_baselines3', 'sklearn') if sys.modules.get(name)])")
    assert told.stdout.strip() == "[]", told.stderr


def test_the_extra_is_named() -> None:
    told = ran("import whatfor as wf\nwf.deep.BeliefCallback", "torch")
    assert "pip install 'whatfor[deep]'" in told.stderr
    told = ran("import whatfor as wf\nwf.deep.BeliefCallback", "stable_baselines3")
    assert "pip install 'whatfor[deep]'" in told.stderr


def test_a_belief_network_needs_no_stable_baselines() -> None:
    told = ran("import whatfor as wf\nprint(wf.deep.BeliefNetwork.__name__)", "stable_baselines3")
    assert told.stdout.strip() == "BeliefNetwork", told.stderr
