"""What answers betray of owners who do not answer as sold: told by name, each with the chance that it was chance.

Noise hides an honest owner's gradient, and a dishonest owner behind it. What can be told without knowing any gradient: an
answer longer than every gradient within the public bounds, with its noise, may be; and answers nearer to something that was
known before their noise was drawn than noise leaves them: to 0, to another answer, to the owner's own answer before. For
noise whose density is symmetric and log-concave, of all points the mean is the one that it is most often near (Anderson),
so that no gradient makes an honest owner more suspect than a gradient of 0 does.

What cannot be told: noise of the right size around a gradient of other records, or of none; less noise than sold around a
gradient that moves more than the noise from round to round; more noise than sold, while the longest gradient is far off.

Source: ours; Anderson, The Integral of a Symmetric Unimodal Function over a Symmetric Convex Set and Some Probability
Inequalities.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import scipy

from learning.arrays import Array
from learning.privacy.mechanism import Mechanism

CHANCE = 1e-9  # at most, that a check of one kind suspects anybody of an exchange in which all are honest
GRID = 2.0**-22  # of the scale: steps of the grids that noise for release lies on are finer
STRANGE, SHOWN = ("contract", "owner"), 40  # what is told of names that may be nobody's; letters that are shown of them
Rounds = Sequence[Mapping[str, Array]]


@dataclass(frozen=True)
class Told:
    """What is told of an owner.

    Parameters
    ----------
    owner: its name.
    round: the round of the answer.
    kind: "long", "near zero", "alike" or "steady" where numbers are suspicious; else what about the answer is wrong.
    said: what was found, as the rest of a sentence that begins with the owner's answer.
    """

    owner: str
    round: int
    kind: str
    said: str

    def __str__(self) -> str:
        if self.kind not in STRANGE:
            return f"{self.owner}'s answer to round {self.round} {self.said}"
        named = self.owner if len(self.owner) <= SHOWN else self.owner[:SHOWN] + "..."
        return (
            f"The answer of {named!r} to round {self.round} {self.said}"  # in quotes no name ends a line or a sentence
        )


@dataclass(frozen=True)
class Sold:
    """What owners sold, public.

    Parameters
    ----------
    mechanism: what makes their answers noisy.
    longest: the longest gradient within the public bounds, in the mechanism's norm.
    scales: owner -> array (rounds,), the scale of its noise in each round.
    """

    mechanism: Mechanism
    longest: float
    scales: Mapping[str, Array] = field(repr=False)

    @property
    def answers(self) -> int:
        """How many answers the whole exchange may have."""
        return sum(len(scale) for scale in self.scales.values())

    def length(self, vector: Array) -> float:
        """In the mechanism's norm."""
        return float(np.linalg.norm(vector, ord=self.mechanism.norm))


def suspicions(rounds: Rounds, sold: Sold) -> list[Told]:
    """What is suspicious about the answers of the first rounds: owner -> array (p,), round by round, in any order of owners.

    Each kind of check suspects nobody of an honest exchange but for `CHANCE`, whatever the records are, however many rounds
    there are, and however often they are looked at.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # numbers may be as large as somebody likes
        return [told for kind in (too_long, too_near_zero, too_alike, too_steady) for told in kind(rounds, sold)]


def too_long(rounds: Rounds, sold: Sold) -> Iterator[Told]:
    """Answers longer than the longest gradient with the noise sold: |a| <= L + s q, q a quantile of the noise's length."""
    for number, name, answer, scale in _each(rounds, sold):
        shape, power = sold.mechanism.length_law(len(answer))
        quantile = (power * scipy.special.gammainccinv(shape, CHANCE / sold.answers)) ** (1 / power)
        found, most = sold.length(answer), sold.longest + float(scale * quantile)
        if found > most:
            said = f"is longer than gradients within the public bounds with the noise sold: {found:.4g}, at most {most:.4g}"
            yield Told(name, number, "long", said)


def too_near_zero(rounds: Rounds, sold: Sold) -> Iterator[Told]:
    """Answers nearer to 0 than noise leaves them, wherever the gradient is."""
    for number, name, answer, scale in _each(rounds, sold):
        chance = float(_nearer(sold, np.array(sold.length(answer)), np.array(scale), len(answer)))
        if chance < CHANCE / sold.answers:
            yield Told(name, number, "near zero", f"is nearer to 0 than the noise sold leaves it ({_odds(chance)})")


def too_alike(rounds: Rounds, sold: Sold) -> Iterator[Told]:
    """Two answers nearer to each other than the noise of the later, or of the larger of one round, leaves them.

    Both owners are told of: which of them copied is not to be seen.
    """
    level, given = 2 * CHANCE / max(1, sold.answers * (sold.answers - 1)), list(_each(rounds, sold))
    numbers, scales = np.array([one[0] for one in given]), np.array([one[3] for one in given])
    told = np.array([one[2] for one in given])
    for place, (number, name, answer, scale) in enumerate(given):
        wider = np.where(numbers[:place] == number, np.maximum(scales[:place], scale), scale)
        apart = np.linalg.norm(answer - told[:place], ord=sold.mechanism.norm, axis=1) if place else np.empty(0)
        for other_place, chance in _those_nearer(sold, apart, wider, level, len(answer)):
            earlier, other = given[other_place][:2]
            what = f"hardly differs from {{}}'s to round {{}} ({_odds(chance)})"
            yield Told(name, number, "alike", what.format(other, earlier))
            if other != name:
                yield Told(other, earlier, "alike", what.format(name, number))


def too_steady(rounds: Rounds, sold: Sold) -> Iterator[Told]:
    """Answers that vary far less from round to round than noise does: sum_k (|a_k - a_{k-1}|/s_k)^j/j, near 0.

    Given the rounds before, each summand is no smaller, in distribution, than the Gamma variable of noise alone.
    """
    before: dict[str, Array] = {}
    counts: dict[str, tuple[float, float]] = {}
    for number, name, answer, scale in _each(rounds, sold):
        shape, power = sold.mechanism.length_law(len(answer))
        if name in before:
            moved, shapes = counts.get(name, (0.0, 0.0))
            moved += (sold.length(answer - before[name]) / scale + GRID * np.sqrt(len(answer))) ** power / power
            counts[name] = moved, shapes + shape
            chance = float(scipy.special.gammainc(shapes + shape, moved))
            if chance < CHANCE / sold.answers:
                said = f"varies far less from those before than the noise sold ({_odds(chance)})"
                yield Told(name, number, "steady", said)
        before[name] = answer


def _each(rounds: Rounds, sold: Sold) -> Iterator[tuple[int, str, Array, float]]:
    """(round, owner, answer, scale), round by round; owners in the order in which they are listed as sellers."""
    for number, answers in enumerate(rounds, start=1):
        for name in (one for one in sold.scales if one in answers):
            yield number, name, answers[name], float(sold.scales[name][number - 1])


def _nearer(sold: Sold, lengths: Array, scales: Array, width: int) -> Array:
    """The chance, at most, that noise on so many numbers brings something known before no further than a length, (n,)."""
    shape, power = sold.mechanism.length_law(width)
    reach = np.asarray(lengths) / scales + GRID * np.sqrt(width)
    return np.asarray(scipy.special.gammainc(shape, reach**power / power))


def _those_nearer(sold: Sold, lengths: Array, scales: Array, level: float, width: int) -> Iterator[tuple[int, float]]:
    """Places of lengths (n,) that noise brings about less often than ``level``, and their chances."""
    shape, power = sold.mechanism.length_law(width)
    short = (power * scipy.special.gammaincinv(shape, 2 * level)) ** (1 / power)  # chances are dear: for few alone
    places = np.flatnonzero(lengths < short * scales)
    for place, chance in zip(places, _nearer(sold, lengths[places], scales[places], width), strict=True):
        if chance < level:
            yield int(place), float(chance)


def _odds(chance: float) -> str:
    """A chance in words."""
    return f"a chance of {chance:.1g}" if chance > 1e-99 else "a chance below 1e-99"
