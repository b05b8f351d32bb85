"""PyTorch is optional: it is imported only when it is used, and if it is missing, the error says what to install."""

from __future__ import annotations

import subprocess
import sys

HIDE = """
import sys
for name in ({hidden}):
    sys.modules[name] = None
"""


def run_without(code: str, *hidden: str) -> subprocess.CompletedProcess[str]:
    """Run code in a new interpreter that cannot import some modules."""
    hide = HIDE.format(hidden="".join(f"{name!r}, " for name in hidden))
    return subprocess.run([sys.executable, "-c", hide + code], capture_output=True, text=True, check=False)


def test_whatfor_does_not_import_torch() -> None:
    code = "import whatfor, whatfor.cli, whatfor.deep, whatfor.paper; whatfor.train, whatfor.Run, whatfor.load\n"
    result = run_without(
        code + "print([name for name in ('torch', 'stable_baselines3', 'sklearn') if sys.modules.get(name)])"
    )
    assert result.stdout.strip() == "[]", result.stderr


def test_the_error_names_the_extra() -> None:
    result = run_without("import whatfor as wf\nwf.deep.BeliefCallback", "torch")
    assert "pip install 'whatfor[deep]'" in result.stderr
    result = run_without("import whatfor as wf\nwf.deep.BeliefCallback", "stable_baselines3")
    assert "pip install 'whatfor[deep]'" in result.stderr


def test_a_belief_network_needs_no_stable_baselines() -> None:
    result = run_without("import whatfor as wf\nprint(wf.deep.BeliefNetwork.__name__)", "stable_baselines3")
    assert result.stdout.strip() == "BeliefNetwork", result.stderr
