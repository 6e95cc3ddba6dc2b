"""Tests for answers that are not as sold, by name, each with its false-positive rate.

Noise hides an honest owner's gradient, and a dishonest owner behind it. Two things can be tested
without any gradient: an answer longer than every gradient within the public bounds with its noise;
and an answer nearer than noise allows to a point that was known before the noise was drawn: to 0,
to another answer, to the owner's own answer before. For noise whose density is symmetric and
log-concave, no point is near more often than the mean (Anderson), so that a gradient of 0 is the
worst case for an honest owner.

Some cheating cannot be seen: noise of the right size around a gradient of other records, or of
none; less noise than sold around a gradient that moves more than the noise from round to round;
more noise than sold, while the longest gradient is far off.

Source: ours; Anderson, The Integral of a Symmetric Unimodal Function over a Symmetric Convex Set
    and Some Probability Inequalities.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import scipy

from learning.arrays import Array
from learning.privacy.mechanism import Mechanism

CHANCE = 1e-9  # at most, that one kind of test suspects anybody in an honest exchange
GRID = 2.0**-22  # of the scale: steps of the grids that noise for release lies on are finer
# kinds of notices about numbers; the last three about sums alone
SUSPICIOUS = ("long", "near zero", "alike", "steady", "trace", "negative", "mismatched")
STRANGE = ("contract", "owner")  # kinds of notices whose names may be of no party
SHOWN = 40  # letters of such a name that are shown
Rounds = Sequence[Mapping[str, Array]]


@dataclass(frozen=True)
class Told:
    """A notice about an owner's answer.

    Parameters
    ----------
    owner: its name.
    round: the round of the answer.
    kind: one of `SUSPICIOUS` where numbers are suspicious; else the part of the answer that is
        wrong.
    said: the finding, as the rest of a sentence that begins with the owner's answer.
    """

    owner: str
    round: int
    kind: str
    said: str

    @property
    def is_suspicious(self) -> bool:
        """True where the numbers of the answer are suspicious."""
        return self.kind in SUSPICIOUS

    def __str__(self) -> str:
        if self.kind not in STRANGE:
            return f"{self.owner}'s answer to round {self.round} {self.said}"
        named = self.owner if len(self.owner) <= SHOWN else self.owner[:SHOWN] + "..."
        # In quotes no name ends a line or a sentence.
        return f"The answer of {named!r} to round {self.round} {self.said}"


@dataclass(frozen=True)
class Sold:
    """The noise that owners sold, public.

    Parameters
    ----------
    mechanism: the mechanism of their answers.
    longest: the longest gradient within the public bounds, in the mechanism's norm.
    scales: owner -> array (rounds,), the scale of its noise in each round.
    parts: number of parts of an answer that are tested by themselves, each with noise of its own.
    noun: the name of what is answered.
    """

    mechanism: Mechanism
    longest: float
    scales: Mapping[str, Array] = field(repr=False)
    parts: int = 1
    noun: str = "gradients"

    @property
    def level(self) -> float:
        """Significance level of the test of one answer, over all answers of the exchange."""
        return CHANCE / (self.n_answers * self.parts)

    @property
    def n_answers(self) -> int:
        """Number of answers that the exchange may have."""
        return sum(len(scale) for scale in self.scales.values())

    def vector_length(self, vector: Array) -> float:
        """Norm of a vector, in the mechanism's norm."""
        return float(np.linalg.norm(vector, ord=self.mechanism.norm))


def find_suspicions(rounds: Rounds, sold: Sold) -> list[Told]:
    """Find suspicious answers of the first rounds.

    Each kind of test suspects anybody of an honest exchange with probability `CHANCE` at most,
    whatever the records are, however many rounds there are, and however often it is repeated.

    Parameters
    ----------
    rounds: round by round, owner -> array (p,), in any order of owners.
    """
    tests = (too_long, too_near_zero, too_alike, too_steady)
    with np.errstate(over="ignore", invalid="ignore"):  # numbers may be as large as somebody likes
        return [told for test in tests for told in test(rounds, sold)]


def too_long(rounds: Rounds, sold: Sold) -> Iterator[Told]:
    """Find answers longer than the longest gradient L plus a quantile q of the noise's length.

    |a| <= L + s q, at scale s.
    """
    for number, name, answer, scale in _each_answer(rounds, sold):
        shape, power = sold.mechanism.length_law(len(answer))
        quantile = (power * scipy.special.gammainccinv(shape, sold.level)) ** (1 / power)
        found = sold.vector_length(answer)
        most = sold.longest + float(scale * quantile)
        if found > most:
            said = f"is longer than {sold.noun} within the public bounds with the noise sold"
            yield Told(name, number, "long", f"{said}: {found:.4g}, at most {most:.4g}")


def too_near_zero(rounds: Rounds, sold: Sold) -> Iterator[Told]:
    """Find answers nearer to 0 than noise allows, wherever the gradient is."""
    for number, name, answer, scale in _each_answer(rounds, sold):
        length = np.array(sold.vector_length(answer))
        chance = float(_chance_nearer(sold, length, np.array(scale), len(answer)))
        if chance < sold.level:
            said = f"is nearer to 0 than the noise sold leaves it ({_odds(chance)})"
            yield Told(name, number, "near zero", said)


def too_alike(rounds: Rounds, sold: Sold) -> Iterator[Told]:
    """Find pairs of answers nearer to each other than the noise of the later one allows.

    Within a round the larger noise counts. Both owners are named: the copy cannot be told from the
    original.
    """
    level = 2 * CHANCE / (sold.parts * max(1, sold.n_answers * (sold.n_answers - 1)))
    given = list(_each_answer(rounds, sold))
    numbers = np.array([number for number, *_ in given])
    answers = np.array([answer for *_, answer, _ in given])
    scales = np.array([scale for *_, scale in given])
    for place, (number, name, answer, scale) in enumerate(given):
        if not place:
            continue
        same_round = numbers[:place] == number
        wider = np.where(same_round, np.maximum(scales[:place], scale), scale)
        apart = np.linalg.norm(answer - answers[:place], ord=sold.mechanism.norm, axis=1)
        for other_place, chance in _improbable(sold, apart, wider, level, len(answer)):
            earlier, other = given[other_place][:2]
            said = f"hardly differs from {{}}'s to round {{}} ({_odds(chance)})"
            yield Told(name, number, "alike", said.format(other, earlier))
            if other != name:
                yield Told(other, earlier, "alike", said.format(name, number))


def too_steady(rounds: Rounds, sold: Sold) -> Iterator[Told]:
    """Find answers that vary far less from round to round than noise does.

    The statistic is sum_k (|a_k - a_{k-1}|/s_k)^j/j. Given the rounds before, each summand is no
    smaller, in distribution, than the Gamma variable of noise alone.
    """
    before: dict[str, Array] = {}
    counts: dict[str, tuple[float, float]] = {}
    for number, name, answer, scale in _each_answer(rounds, sold):
        shape, power = sold.mechanism.length_law(len(answer))
        if name in before:
            moved, shapes = counts.get(name, (0.0, 0.0))
            length = sold.vector_length(answer - before[name])
            moved += (length / scale + GRID * np.sqrt(len(answer))) ** power / power
            counts[name] = moved, shapes + shape
            chance = float(scipy.special.gammainc(shapes + shape, moved))
            if chance < sold.level:
                said = f"varies far less from those before than the noise sold ({_odds(chance)})"
                yield Told(name, number, "steady", said)
        before[name] = answer


def _each_answer(rounds: Rounds, sold: Sold) -> Iterator[tuple[int, str, Array, float]]:
    """Yield (round, owner, answer, scale), owners in the order in which they are sellers."""
    for number, answers in enumerate(rounds, start=1):
        for name in (one for one in sold.scales if one in answers):
            yield number, name, answers[name], float(sold.scales[name][number - 1])


def _chance_nearer(sold: Sold, lengths: Array, scales: Array, width: int) -> Array:
    """Bound the probability that noise ends within some lengths (n,) of a known point, (n,)."""
    shape, power = sold.mechanism.length_law(width)
    reach = np.asarray(lengths) / scales + GRID * np.sqrt(width)
    return np.asarray(scipy.special.gammainc(shape, reach**power / power))


def _improbable(
    sold: Sold, lengths: Array, scales: Array, level: float, width: int
) -> Iterator[tuple[int, float]]:
    """Find the lengths (n,) whose probability is below ``level``: yields (place, probability)."""
    shape, power = sold.mechanism.length_law(width)
    # Probabilities are expensive: only short lengths need one.
    short = (power * scipy.special.gammaincinv(shape, 2 * level)) ** (1 / power)
    places = np.flatnonzero(lengths < short * scales)
    chances = _chance_nearer(sold, lengths[places], scales[places], width)
    for place, chance in zip(places, chances, strict=True):
        if chance < level:
            yield int(place), float(chance)


def _odds(chance: float) -> str:
    return f"a chance of {chance:.1g}" if chance > 1e-99 else "a chance below 1e-99"
