"""The command `whatfor paper`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import tyro

from whatfor.terminal import print_safely


def paper(
    out: Annotated[str | None, tyro.conf.arg(metavar="FOLDER", help_behavior_hint="")] = None,
    only: Annotated[tuple[str, ...], tyro.conf.UseAppendAction, tyro.conf.arg(metavar="ID")] = (),
    seeds: Annotated[int | None, tyro.conf.arg(metavar="N", help_behavior_hint="")] = None,
    deep: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False,
    preset: Annotated[
        Literal["small", "full"] | None, tyro.conf.arg(metavar="{small,full}", help_behavior_hint="")
    ] = None,
    device: Annotated[
        Literal["auto", "cpu", "cuda"] | None, tyro.conf.arg(metavar="{auto,cpu,cuda}", help_behavior_hint="")
    ] = None,
    inputs: Annotated[
        Literal["one-hot", "raw"] | None, tyro.conf.arg(metavar="{one-hot,raw}", help_behavior_hint="")
    ] = None,
    both_heads: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False,
) -> None:
    """Reproduce the paper's figures, from training to picture, and measure the paper's claims on many agents.

    Args:
        out: The folder for the pictures and their index.html: out/paper by default, or out/paper-deep.
        only: A figure's id, such as 7 or S4; may be given several times. By default all.
        seeds: The number of agents that each claim is measured on: 20 by default, 3 with --deep.
        deep: The figures of deep agents (4D, 6, S11, A6) instead of tabular ones. Training takes minutes for each seed; the agents are saved in the same folder, and not trained again.
        preset: With --deep: small (the default) for some minutes on a CPU, full for the paper's networks on a GPU.
        device: With --deep: the device to train on; auto (the default) uses a GPU if there is one.
        inputs: With --deep: the networks' input: the one-hot code of a state (the default), or its raw numbers, as in the paper.
        both_heads: With --deep: also train the paper's own belief network alongside every agent, for comparison; by default only where that costs little.
    """
    from pathlib import Path
    from shlex import quote

    from whatfor.paper import DeepAgents, counts_text, reproduce
    from whatfor.paper.deep import EXAMPLES
    from whatfor.pictures.files import check_writable

    if not deep:
        for name, given in (("preset", preset), ("device", device), ("inputs", inputs), ("both-heads", both_heads)):
            if given:
                raise ValueError(f"--{name} is for deep agents: add --deep")
    if seeds is not None and seeds < 1:
        raise ValueError(f"--seeds is {seeds}; use at least 1")
    target = Path(out or ("out/paper-deep" if deep else "out/paper"))
    check_writable(target)  # checked before the work starts
    agents = None
    if deep:
        options: dict[str, Any] = {"device": device or "auto", "inputs": inputs or "one-hot", "both_heads": both_heads}
        agents = DeepAgents(preset or "small", **options)
    _, results = reproduce(target, only, seeds=seeds, agents=agents)
    for one in results:
        if one.status != "reproduced":
            print_safely(f"{one.status} in {one.claim.figure} ({one.rate} agents): {one.claim.says}")
    print_safely(f"{counts_text(results)}; see {target / 'index.html'}")
    for name, run in agents.runs.items() if agents is not None else ():
        state = quote(run.labels.words(run.labels.index(EXAMPLES[name])))
        print_safely(f"to ask this agent: whatfor explain {quote(str(target / name))} --state {state}")
