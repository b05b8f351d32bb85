"""The exact future of a Blackjack policy by recursion over cards, independent of the library's table.

An infinite deck; the dealer draws below 17, soft or hard; hit or stick, no extra reward for a natural.
"""

from __future__ import annotations

from collections import Counter
from functools import cache

DECK = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10, 10, 10)
STICK, HIT = 0, 1


def score(low: int, aces: bool) -> int:
    """The score of a hand; in ``low``, aces count 1."""
    return low + 10 if aces and low + 10 <= 21 else low


@cache
def dealer(low: int, aces: bool) -> Counter:
    """Chance of each final score of a dealer's hand; 0: bust."""
    if low > 21:
        return Counter({0: 1.0})
    if score(low, aces) >= 17:
        return Counter({score(low, aces): 1.0})
    final: Counter = Counter()
    for card in DECK:
        for total, chance in dealer(low + card, aces or card == 1).items():
            final[total] += chance / 13
    return final


def stuck(player: int, shown: int) -> Counter:
    """Chance of each ending for a player who sticks. A single card is below 17, so the dealer always draws."""
    ends: Counter = Counter()
    for total, chance in dealer(shown, shown == 1).items():
        ends["won" if player > total else "drew" if player == total else "lost"] += chance
    return ends


def future(policy, player: int, shown: int, ace: bool, action: int) -> tuple[Counter, Counter]:
    """Expected visits of every (player, ace, action) and the chance of every ending; this step counts.

    ``policy(player, shown, ace)`` is the chance to hit.
    """

    @cache
    def follows(low: int, aces: bool, action: int) -> tuple[Counter, Counter]:
        total = score(low, aces)
        visits, ends = Counter({(total, total > low, action): 1.0}), Counter()
        if action == STICK:
            return visits, stuck(total, shown)
        for card in DECK:
            if low + card > 21:
                ends["bust"] += 1 / 13
                continue
            drawn = (low + card, aces or card == 1)
            hit = policy(score(*drawn), shown, score(*drawn) > drawn[0])
            for then, chance in ((STICK, 1.0 - hit), (HIT, hit)):
                if chance > 0.0:
                    for sums, more in zip((visits, ends), follows(*drawn, then), strict=True):
                        for key, number in more.items():
                            sums[key] += chance * number / 13
        return visits, ends

    return follows(player - 10 * ace, bool(ace), action)
