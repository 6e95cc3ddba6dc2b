"""The learner's part in secure aggregation: the total of masked sums, without its masks.

Masks between two owners in the total cancel. Shares of the others give the seeds of the owners in
the total, and the masking keys of those that sent shares and no sums. A seed and a key are
recognised by what their owner said of them at first, so a false share is found, and left out where
enough others are there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, islice

import numpy as np

from exchange.contract import Contract
from exchange.learner.sums import unflatten_moments
from exchange.messages import Answer, Keys, Masked, Unmasking
from exchange.secure.combining import combine_shares
from exchange.secure.masks import own_mask, pair_mask, pairs_of, public_key, seed_digest
from exchange.terms import MASKED
from learning.arrays import Array
from learning.errors import InputError
from learning.losses.coordinates import Coordinates
from learning.privacy.distributed import SumsPart, Words
from learning.training.sums import ReleasedSums

Used = Mapping[str, Answer]
TRIED = 1000  # sets of shares that are tried for one secret


def gather_total(contract: Contract, used: Sequence[Used]) -> ReleasedSums:
    """Gather the total of the owners' sums as those of a single owner.

    Parameters
    ----------
    used: the answers that count to each question, owner -> answer.

    Raises
    ------
    InputError
        If the shares give no seed or key that an owner stated.
    """
    noise = total_noise(contract)
    names = tuple(used[MASKED - 1])
    numbers = read_total(noise, unmask_total(contract, used))
    width = len(contract.bounds.start)
    on_score, on_moments = total_deviations(contract, len(names))
    return ReleasedSums(
        names=(", ".join(names),),
        sizes=np.array([float(sum(contract.owner(name).records for name in names))]),
        xx=unflatten_moments(numbers[width:], width)[None],
        xu=numbers[None, :width],
        matrix_deviation=np.array([on_moments]),
        vector_deviation=np.array([on_score]),
        coordinates=Coordinates.of(contract.coordinates),
        regularisation=contract.training.regularisation,
    )


def read_total(noise: SumsPart, total: Words) -> Array:
    """Convert a total of owners' numbers to sums (m,)."""
    return total.astype(np.int64) * noise.part.step / noise.weights


def total_noise(contract: Contract) -> SumsPart:
    """One owner's part of the noise on the total."""
    noise = contract.terms(contract.names[0]).sums_noise
    assert isinstance(noise, SumsPart)
    return noise


def total_deviations(contract: Contract, owners: int) -> tuple[float, float]:
    """Deviations of the noise that so many owners add to the total's score and moments."""
    on_score, on_moments = total_noise(contract).part_scales
    return on_score * owners**0.5, on_moments * owners**0.5


def unmask_total(contract: Contract, used: Sequence[Used]) -> Words:
    """Add the masked sums (m,) and take away every mask that does not cancel."""
    stated, shared, masked, _, given = used
    peers = tuple(name for name in contract.names if name in shared)
    keys = {name: key for name, key in stated.items() if isinstance(key, Keys)}
    sums = {name: one.masked for name, one in masked.items() if isinstance(one, Masked)}
    shares = {name: one for name, one in given.items() if isinstance(one, Unmasking)}
    question = next(iter(masked.values())).query
    total = sum(sums.values(), start=np.zeros(len(next(iter(sums.values()))), dtype=np.uint64))
    for name in peers:
        if name in sums:
            seeds = {one: each.seeds[name] for one, each in shares.items() if name in each.seeds}
            seed = _find_secret(contract, name, seeds, keys[name].seed)
            total = total - own_mask(seed, question, len(total))
            continue
        held = {one: each.keys[name] for one, each in shares.items() if name in each.keys}
        secret = _find_secret(contract, name, held, keys[name].masking)
        for pair in pairs_of(name, peers):
            other = pair[0] if pair[1] == name else pair[1]
            if other in sums:
                mask = pair_mask(secret, keys[other].masking, question, pair, len(total))
                total = total + mask if pair[0] == name else total - mask
    return total


def _find_secret(contract: Contract, name: str, shares: Mapping[str, str], stated: str) -> bytes:
    """Combine shares to the seed or masking key whose digest or public part its owner stated."""
    agreed = contract.aggregation
    assert agreed is not None
    points = {contract.names.index(one) + 1: bytes.fromhex(text) for one, text in shares.items()}
    for chosen in islice(combinations(points, agreed.threshold), TRIED):
        secret = combine_shares({x: points[x] for x in chosen})
        if secret is not None and stated in (seed_digest(secret), public_key(secret)):
            return secret
    rule = f"must give back the secret of {name}, by {agreed.threshold} of its shares"
    found = f"{len(points)} that do not"
    raise InputError("the answers to the last question", rule, found, UNDONE)


UNDONE = "An owner sent false shares: nothing can be read. Begin anew under another contract."


def masked_owners(used: Iterable[Used]) -> tuple[str, ...]:
    """Owners whose sums are in the total."""
    return tuple(next(islice(used, MASKED - 1, None), ()))
