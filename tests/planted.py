"""Agents with a planted loop, a planted reward flaw, or a planted bad episode, for the tests of findings."""

import numpy as np

import whatfor as wf
from whatfor.beliefs.transitions import entries_of

TAXI = wf.QLearning(step_size=0.4, discount=0.9, exploration=wf.linear(1.0, 0.1, episodes=250))
LAKE = wf.QLearning(step_size=0.1, discount=0.95, exploration=0.3)
GRID = wf.QLearning(step_size=0.2, discount=0.95, exploration=0.3)
WALLS, PITS, GOAL, SIZE = {(1, 1), (1, 2), (3, 3), (2, 4)}, {(3, 1), (0, 4)}, (4, 4), 5


def grid(slip=0.1):
    """A 5 × 5 grid with walls, two pits that pay -10 and a goal that pays +10; a step pays -0.1, and may slip to the left."""
    moves = [(-1, 0), (0, 1), (1, 0), (0, -1)]

    def step(row, column, move):
        to = row + moves[move][0], column + moves[move][1]
        inside = 0 <= to[0] < SIZE and 0 <= to[1] < SIZE and to not in WALLS
        row, column = to if inside else (row, column)
        reward = 10.0 if (row, column) == GOAL else -10.0 if (row, column) in PITS else -0.1
        return row * SIZE + column, reward, (row, column) in PITS | {GOAL}

    transitions = {}
    for state in range(SIZE * SIZE):
        row, column = divmod(state, SIZE)
        transitions[state] = {}
        for action in range(4):
            ways = [(1.0 - slip, action)] + ([(slip, (action - 1) % 4)] if slip else [])
            transitions[state][action] = [(chance, *step(row, column, move)) for chance, move in ways]
    start = np.array([float((row, column) not in WALLS | PITS | {GOAL}) for row in range(5) for column in range(5)])
    return wf.worlds.table(transitions, start=start / start.sum(), max_steps=200)


#: By name: the world, the same without chance, the learner, and the number of episodes.
WORLDS = {
    "Taxi": (lambda: "Taxi-v4", lambda: "Taxi-v4", TAXI, 2_000),
    "FrozenLake": (
        lambda: "FrozenLake-v1",
        lambda: __import__("gymnasium").make("FrozenLake-v1", is_slippery=False),
        LAKE,
        1_000,
    ),
    "grid": (grid, lambda: grid(slip=0.0), GRID, 1_000),
}


def table_of(run):
    return run.playing.place().world.table


def with_bad_episode(run, seed, most=100):
    """One of the last 5 % of the rewards of a pair is wrong by 5 times the range: the run, the state and the episode."""
    ledger, dice = run.ledger, np.random.default_rng(seed)
    best, tries = run.values.argmax(axis=1), ledger.tries()
    state = int(dice.choice([s for s, action in enumerate(best) if 20 <= tries[s, action] <= most]))
    own = np.flatnonzero(ledger.lines.cell == state * ledger.n_actions + best[state])
    bad = int(dice.choice(own[-max(1, len(own) // 20) :]))
    rewards = ledger.lines.reward.copy()
    rewards[bad] += 5.0 * np.ptp(rewards) * dice.choice([-1.0, 1.0])
    wrong = ledger.revised(reward=rewards)
    return run.derived(values=wrong.values(), ledger=wrong), state, int(ledger.episodes_and_steps([bad])[0][0])


def with_loop(run, seed, *, recorded=False):
    """In a state that its episodes visit, an action that leads back is too good: the run and the two states.

    ``recorded``: by one reward of the ledger; else only in its table.
    """
    ledger, dice, table = run.ledger, np.random.default_rng(seed), table_of(run)
    n_actions, best, tries = ledger.n_actions, run.values.argmax(axis=1), ledger.tries()
    to, ended = table.next_state.reshape(-1, n_actions), table.ending.reshape(-1, n_actions) != 0
    met = {run.labels.index(state) for start in range(20) for state, _ in run.episode(None, seed=start)}
    steps = [(s, int(to[s, best[s]])) for s in sorted(met) if not ended[s, best[s]]]
    choices = [
        (s, there, b)
        for s, there in steps
        for b in range(n_actions)
        if there != s and to[there, b] == s and not ended[there, b] and tries[there, b]
    ]
    state, there, back = choices[int(dice.integers(len(choices)))]
    more = run.values[there].max() - run.values[there, back] + 0.02 * np.ptp(run.values.max(axis=1))
    if not recorded:
        values = run.values.copy()
        values[there, back] += more
        return run.derived(values=values), {state, there}
    last = int(np.flatnonzero(ledger.lines.cell == there * n_actions + back)[-1])
    rewards = ledger.lines.reward.copy()
    rewards[last] += more / np.broadcast_to(ledger.lines.step_size, len(ledger))[last]
    wrong = ledger.revised(reward=rewards)
    return run.derived(values=wrong.values(), ledger=wrong), {state, there}


def with_reward_flaw(world, learner, episodes, seed):
    """An agent that stays in a state for the largest reward there is, which a flaw pays for bumping there; and the pair."""
    made, dice = (
        wf.train(world, learner, episodes=1, seed=seed, progress=False).playing.place().world,
        np.random.default_rng(seed),
    )
    table, n_actions = made.table, made.labels.n_actions
    pairs = np.repeat(np.arange(len(table.first) - 1), np.diff(table.first))
    start = np.diff(table.start, prepend=0.0) > 0
    at_once = (table.next_state == pairs // n_actions) & (table.ending == 0) & start[pairs // n_actions]
    chances = np.bincount(pairs, weights=at_once * entries_of(table)[1])
    stays = np.flatnonzero(chances >= 0.5)  # by a slip alone, it comes back for nothing
    for flawed in dice.permutation(stays).tolist():
        wrong = made.repriced(lambda pairs, rewards, at=flawed: np.where(pairs == at, table.reward.max(), rewards))
        run = wf.train(wrong, learner, episodes=episodes, seed=seed, progress=False)
        state, action = divmod(flawed, n_actions)
        if run.values[state].argmax() == action:  # else it did not learn of it
            return run, (state, action)
    raise AssertionError("no agent learned of the flaw")
