"""The command `whatfor paper`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import tyro

from whatfor.terminal import print_safely


@dataclass(frozen=True)
class DeepOptions:
    """Options of deep agents, for --deep."""

    preset: Annotated[Literal["small", "full"] | None, tyro.conf.arg(metavar="{small,full}", help_behavior_hint="")] = (
        None
    )
    """With --deep: small (the default) for some minutes on a CPU, full for the paper's networks on a GPU."""
    device: Annotated[
        Literal["auto", "cpu", "cuda"] | None, tyro.conf.arg(metavar="{auto,cpu,cuda}", help_behavior_hint="")
    ] = None
    """With --deep: the device to train on; auto (the default) uses a GPU if there is one."""
    inputs: Annotated[
        Literal["one-hot", "raw"] | None, tyro.conf.arg(metavar="{one-hot,raw}", help_behavior_hint="")
    ] = None
    """With --deep: the networks' input: the one-hot code of a state (the default), or its raw numbers, as in the paper."""
    both_heads: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False
    """With --deep: also train the paper's own belief network alongside every agent, for comparison; by default only where that costs little."""

    def given(self) -> dict[str, Any]:
        """Those that were given."""
        return {name: value for name, value in vars(self).items() if value}


def paper(
    out: Annotated[str | None, tyro.conf.arg(metavar="FOLDER", help_behavior_hint="")] = None,
    only: Annotated[tuple[str, ...], tyro.conf.UseAppendAction, tyro.conf.arg(metavar="ID")] = (),
    seeds: Annotated[int | None, tyro.conf.arg(metavar="N", help_behavior_hint="")] = None,
    jobs: Annotated[int, tyro.conf.arg(metavar="N")] = 1,
    deep: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False,
    options: Annotated[DeepOptions, tyro.conf.arg(name="")] = DeepOptions(),  # noqa: B008
) -> None:
    """Reproduce the paper's figures, from training to picture, and measure the paper's claims on many agents.

    Args:
        out: The folder for the pictures and their index.html: out/paper by default, or out/paper-deep.
        only: A figure's id, such as 7 or S4; may be given several times. By default all.
        seeds: The number of agents that each claim is measured on: 20 by default, 3 with --deep.
        jobs: The number of processes that share this work. With --deep they train the agents of all seeds at the same time; agents that are saved are not trained again, so a run that was stopped goes on.
        deep: The figures of deep agents (4D, 6, S11, A6) instead of tabular ones. Training takes minutes for each seed; the agents are saved in the same folder, and not trained again.
        options: Options of deep agents.
    """
    from pathlib import Path
    from shlex import quote

    from whatfor.paper import DeepAgents, counts_text, reproduce
    from whatfor.paper.deep import EXAMPLES
    from whatfor.pictures.files import check_writable

    given = options.given()
    if given and not deep:
        raise ValueError(f"--{next(iter(given)).replace('_', '-')} is for deep agents: add --deep")
    for name, number in (("seeds", seeds), ("jobs", jobs)):
        if number is not None and number < 1:
            raise ValueError(f"--{name} is {number}; use at least 1")
    target = Path(out or ("out/paper-deep" if deep else "out/paper"))
    check_writable(target)  # checked before the work starts
    agents = DeepAgents(**given) if deep else None
    _, results = reproduce(target, only, seeds=seeds, agents=agents, jobs=jobs)
    for one in results:
        if one.status != "reproduced":
            print_safely(f"{one.status} in {one.claim.figure} ({one.rate} agents): {one.claim.says}")
    print_safely(f"{counts_text(results)}; see {target / 'index.html'}")
    for name, run in agents.runs.items() if agents is not None else ():
        state = quote(run.labels.words(run.labels.index(EXAMPLES[name])))
        print_safely(f"to ask this agent: whatfor explain {quote(str(target / name))} --state {state}")
