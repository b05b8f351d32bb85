"""Train, ask, draw and write a report with an installed whatfor; `plain`: without its extras, and with good errors for what needs them."""

import sys
from collections.abc import Callable
from pathlib import Path

import whatfor as wf

PLAIN = "plain" in sys.argv[1:]
OUT = Path("tried")
SOURCE = Path(__file__).resolve().parent.parent


def main() -> None:
    """Everything a first user does."""
    assert SOURCE not in Path(wf.__file__).resolve().parents, f"not the installed whatfor: {wf.__file__}"
    OUT.mkdir()
    learner = wf.QLearning(step_size=0.4, discount=0.9, exploration=wf.linear(1.0, 0.1, episodes=250))
    run = wf.train("Taxi-v4", learner, episodes=1_000, seed=0)
    why = run.intention("taxi at row 0, column 3; passenger at Y; destination R")
    print(why)
    assert why.residual is not None
    assert why.residual < 1e-12
    if PLAIN:
        missing(lambda: wf.draw(why), "plot")
    else:
        wf.draw(why).savefig(OUT / "why.png")
    missing(lambda: wf.deep.BeliefCallback, "deep")
    run.report(OUT / "report.html", episodes=1)
    run.save(OUT / "run")
    assert wf.load(OUT / "run").intention(68).value == why.value
    for path in sorted(OUT.iterdir()):
        print(path)


def missing(use: Callable[[], object], extra: str) -> None:
    """Using what is not installed names the extra that brings it."""
    said = ""
    try:
        use()
    except ImportError as error:
        said = str(error)
    assert f"whatfor[{extra}]" in said, said or f"the extra {extra!r} is installed here"


if __name__ == "__main__":
    main()
