"""Train a DQN to swing Acrobot up, with beliefs, and ask what its policy leads to and what it learned: about three minutes."""

import sys
from pathlib import Path

import numpy as np
from stable_baselines3 import DQN

import whatfor as wf

AGENT = {
    "learning_rate": 1e-3,
    "batch_size": 64,
    "buffer_size": 50_000,
    "learning_starts": 1_000,
    "gamma": 0.98,
    "target_update_interval": 100,
    "train_freq": 4,
    "gradient_steps": 2,
    "exploration_fraction": 0.2,
    "exploration_final_eps": 0.05,
    "policy_kwargs": {"net_arch": [64, 64]},
}
HANGING = np.array([1, 0, 1, 0, 0, 0], np.float32)  # at rest; episodes start here, with a little noise


def height(obs):
    """The height of the tip above the bar, in links: -2 at rest; above 1 the episode ends."""
    cos1, sin1, cos2, sin2 = obs[:4]
    return -cos1 - (cos1 * cos2 - sin1 * sin2)


CELLS = {
    "fast": lambda obs: abs(obs[4]) > 2.0,
    "swinging": (lambda obs: "left" if obs[4] < 0 else "right", ("left", "right")),
    "tip": (height, (-1.5, -1.0, -0.5, 0.0, 0.5)),
}
ENDINGS = {"swung up": lambda obs: height(obs) > 1.0}
TORQUES = ("torque -1", "no torque", "torque +1")


def make_agent():
    """An untrained agent."""
    return DQN("MlpPolicy", "Acrobot-v1", **AGENT, seed=0)


def answers(run, rollouts=100):
    """The answers to more questions, by the names that the documentation uses."""
    episode = [obs for obs, _ in run.episode(HANGING)]
    decisive = max(episode, key=lambda obs: run.contrast(obs).gap)  # where the best action is ahead by most
    return {
        "agent": run.evaluate(episodes=rollouts),
        "contrast": run.contrast(decisive),
        "outcomes": run.outcomes(decisive),
        "comparison": run.comparison(HANGING, rollouts=rollouts),
    }


def main(steps=40_000, rollouts=100):
    """Train, ask and draw; returns the agent, its run and some answers."""
    agent = make_agent()
    callback = wf.deep.BeliefCallback(CELLS, endings=ENDINGS, actions=TORQUES)
    agent.learn(steps, callback=callback)
    run = callback.run
    print("== why ==")
    print(run.intention(HANGING))
    results = {"learned": callback.learned.intention(HANGING), **answers(run, rollouts)}
    for name, answer in results.items():
        print(f"\n== {name} ==\n{answer}")
    Path("out").mkdir(exist_ok=True)
    wf.draw(run.intention(HANGING)).savefig("out/deep_acrobot.png", dpi=150)
    wf.draw(results["comparison"]).savefig("out/deep_acrobot_comparison.png", dpi=150)
    return agent, run, results


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
