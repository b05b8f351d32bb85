"""The recursion in readable NumPy, straight from the theory; the reference for the kernels."""

from __future__ import annotations

import numpy as np

from whatfor.kernels.recursion import NO_BOOTSTRAP, LedgerLines


def columns(lines: LedgerLines):
    """One tuple per line: k, j, r, a, g, l."""
    n = len(lines.cell)
    wide = [np.broadcast_to(column, n) for column in (lines.step_size, lines.discount, lines.lambda_)]
    for k, j, r, a, g, lambda_ in zip(lines.cell, lines.source, lines.reward, *wide, strict=True):
        yield int(k), int(j), float(r), float(a), float(g) if j >= NO_BOOTSTRAP else 0.0, float(lambda_)


def forwards(lines: LedgerLines, start: np.ndarray, cumulant, without=()) -> np.ndarray:
    """The tables (cells, ...) after all updates; ``cumulant(k, r)`` is the amount of an update.

    ``without`` deletes some updates: they leave their cells as they are, and λ-returns pass through them.
    """
    tables = start.copy()
    target = np.zeros(tables.shape[1:])
    for i, (k, j, r, a, g, lambda_) in enumerate(columns(lines)):
        bootstrap = tables[j] if j >= 0 else 0.0
        target = cumulant(k, r) + g * ((1 - lambda_) * bootstrap + lambda_ * target)
        if i not in without:
            tables[k] = tables[k] + a * (target - tables[k])
    return tables


def relearned(ledger, learner, without=()) -> np.ndarray:
    """(tables, S, A) The tables of a learner that learns from the recorded experience again, without some updates.

    Pair, reward, table, λ and SARSA's next action are the recorded ones. Q-learning, double Q-learning and λ-returns
    choose the action that they bootstrap from: the recorded one if it is among the best, else the first of the best.
    """
    tables = ledger.initial_tables()
    flat, tries = tables.reshape(-1), {}
    chooses = type(learner).__name__ in ("QLearning", "DoubleQLearning", "LambdaReturns")
    power = getattr(learner.step_size, "power", None)
    target = 0.0
    for i, (k, j, r, a, g, lambda_) in enumerate(columns(ledger.lines)):
        if chooses and j >= 0:
            table, state, action = np.unravel_index(j, tables.shape)
            selecting = np.unravel_index(k, tables.shape)[0]
            best = np.flatnonzero(tables[selecting, state] == tables[selecting, state].max())
            bootstrap = tables[table, state, action if action in best else best[0]]
        else:
            bootstrap = flat[j] if j >= 0 else 0.0
        target = r + g * ((1 - lambda_) * bootstrap + lambda_ * target)
        if i not in without:
            tries[k] = tries.get(k, 0) + 1
            step = a if power is None else 1.0 / (float(tries[k]) if power == 1.0 else float(tries[k]) ** power)
            flat[k] = flat[k] + step * (target - flat[k])
    return tables


def backwards(lines: LedgerLines, asked: dict[int, float], n_cells: int):
    """The weight of every line and on initial values, for asked cells with weights."""
    w = np.zeros(n_cells)
    for cell, weight in asked.items():
        w[cell] = weight
    weights, carry = [], 0.0
    for k, j, _, a, g, lambda_ in reversed(list(columns(lines))):
        m = a * w[k] + carry
        w[k] *= 1 - a
        if j >= 0:
            w[j] += g * (1 - lambda_) * m
        carry = g * lambda_ * m
        weights.append(m)
    return np.array(weights[::-1]), w


def standard_error(lines: LedgerLines, weights: np.ndarray, tables: np.ndarray, episodes: np.ndarray) -> float:
    """Weighted one-step errors against the final tables (cells,), summed by episode, then squared and summed."""
    by_episode: dict[int, float] = {}
    before = 0
    for i, (k, j, r, _, g, lambda_) in enumerate(columns(lines)):
        found = (1 - lambda_) * (tables[j] if j >= 0 else 0.0) + lambda_ * tables[before]
        error = weights[i] * (r + g * found - tables[k])
        by_episode[int(episodes[i])] = by_episode.get(int(episodes[i]), 0.0) + error
        before = k
    return float(np.sqrt(sum(error**2 for error in by_episode.values())))


def by_depth(lines: LedgerLines, n_cells: int, n_pairs: int, horizon: int) -> np.ndarray:
    """(cells, horizon + 1, pairs) Visits by steps ahead, learned forwards: a bootstrap looks one step further."""

    def ahead(later):
        shifted = np.zeros_like(later)
        shifted[1:] = later[:-1]
        shifted[-1] += later[-1]
        return shifted

    tables, target = np.zeros((n_cells, horizon + 1, n_pairs)), np.zeros((horizon + 1, n_pairs))
    for k, j, _, a, g, lambda_ in columns(lines):
        bootstrap = ahead(tables[j]) if j >= 0 else 0.0
        target = g * ((1 - lambda_) * bootstrap + lambda_ * ahead(target))
        target[0, k % n_pairs] += 1.0
        tables[k] = tables[k] + a * (target - tables[k])
    return tables


def ever(lines: LedgerLines, n_cells: int, arrived) -> np.ndarray:
    """(cells,) The probability that something is ever true after a step, learned forwards like a value.

    ``arrived(cell or code, line)`` says what is known on arrival: 1 if it is true there, 0 if it no longer can be,
    None where it is still open; then the target is what is believed of the place arrived at.
    """
    tables, target, previous = np.zeros(n_cells), 0.0, -1
    for i, (k, j, _, a, _, lambda_) in enumerate(columns(lines)):
        known = arrived(
            previous if j == NO_BOOTSTRAP else j, i
        )  # on a λ-return, the line before begins where this arrives
        if known is None:
            known = lambda_ * target + ((1 - lambda_) * tables[j] if j >= 0 else 0.0)
        target, previous = known, k
        tables[k] = tables[k] + a * (target - tables[k])
    return tables


def course(ledger, weights, left, state, action):
    """The likeliest course, one dictionary of shares per step: pairs, ending, the step it comes back to, chances; None on a tie."""
    n_pairs = ledger.n_states * ledger.n_actions
    rows = list(columns(ledger.lines))

    def shares(pair):
        found: dict[int, float] = {}
        for i, (k, j, _, _, _, lambda_) in enumerate(rows):
            if k % n_pairs != pair or weights[i] <= 1e-12:
                continue
            along = lambda_ if j >= NO_BOOTSTRAP else 0.0
            to = j % n_pairs if j >= 0 else j
            found[to] = found.get(to, 0.0) + (1 - along) * weights[i]
            if along:
                before = rows[i - 1][0] % n_pairs
                found[before] = found.get(before, 0.0) + along * weights[i]
        return {to: share for to, share in sorted(found.items()) if share > 0.0}

    path, chances, chance = [state * ledger.n_actions + action], [1.0], 1.0
    ending, back = None, None
    while True:
        found = shares(path[-1])
        if not found:
            break
        to = max(found, key=lambda to: found[to])
        if sum(share > found[to] * (1 - 1e-9) for share in found.values()) > 1:
            return None  # two steps are equally likely: rounding decides
        chance *= found[to] / (sum(found.values()) + left[path[-1]])
        if to < NO_BOOTSTRAP:
            ending = ledger.endings[-2 - to]
            break
        if to in path:
            back = path.index(to)
            break
        if to == NO_BOOTSTRAP or chance < 0.05:
            break
        path.append(to)
        chances.append(chance)
    return [divmod(pair, ledger.n_actions) for pair in path], ending, back, chances
