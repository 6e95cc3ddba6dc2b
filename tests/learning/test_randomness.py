"""Every draw belongs to a key."""

import numpy as np
import pytest

from learning.losses.statistics import squared_statistics
from learning.privacy.laplace import Laplace
from learning.randomness import FEW, Streams
from learning.training.client import Client


def clients(name, scale=1.0, p=3):
    return Client(name, squared_statistics(np.eye(p), np.ones(p)), scale, 100)


def test_a_stream_is_a_function_of_seed_purpose_and_keys():
    first = Streams(7, "noise").rng("bank", 3).random(5)
    streams = Streams(7, "noise")
    for other in ("a", "b"):  # asking for others in between changes nothing
        streams.rng(other, 3).random(100)
    assert (streams.rng("bank", 3).random(5) == first).all()


def test_same_seed_same_bytes_on_every_machine():
    """The first draw of a stream, written down once: a change here changes every published number."""
    assert Streams(7, "noise").rng("bank", 3).random() == 0.13672718901993286


@pytest.mark.parametrize("seed", [0, 7, 2**32 - 1, 2**32, 2**64 + 5, 2**128 + 1, 3**200])
@pytest.mark.parametrize("keys", [(), ("bank",), ("bank", 2**32 - 1, "x")])
@pytest.mark.parametrize("count", [0, 1, FEW, 100])
def test_many_streams_at_once_are_those_asked_for_one_by_one(seed, keys, count):
    streams = Streams(seed, "noise")
    together = streams.rngs(*keys, count=count)
    alone = [streams.rng(*keys, number) for number in range(count)]
    assert [g.bit_generator.state for g in together] == [g.bit_generator.state for g in alone]


def test_a_stream_that_nobody_asks_for_is_not_made():
    """Of a hundred owners who talk as clocks tick, most are silent in a short training; and a stream goes on."""
    streams = Streams(7, "noise").rngs("bank", count=1000)
    first = streams[3].random(2)
    alone = Streams(7, "noise").rng("bank", 3)
    assert np.array_equal(np.append(first, streams[3].random()), alone.random(3))
    assert len(streams) == 1000 and len(streams.made) == 1


def test_keys_seeds_and_purposes_do_not_share_draws():
    keys = [
        (7, "noise", ("bank", 3)),
        (8, "noise", ("bank", 3)),
        (7, "data", ("bank", 3)),
        (7, "noise", ("bank", 4)),
        (7, "noise", ("bank",)),
        (7, "noise", ("bank", 3, 0)),
        (7, "noise", (3, "bank")),
        (7, "noise", ()),
    ]
    draws = [Streams(seed, purpose).rng(*key).random() for seed, purpose, key in keys]
    assert len(set(draws)) == len(keys)


def test_many_owners_have_streams_of_their_own():
    names = [f"owner {i + 1}" for i in range(20_000)]
    draws = {int(Streams(0, "noise").rng(name, 0).integers(2**63)) for name in names}
    assert len(draws) == len(names)


@pytest.mark.parametrize("key", [-1, 2**32])
def test_a_key_out_of_range_is_refused(key):
    with pytest.raises(ValueError, match="stream key"):
        Streams(0, "noise").rng(key)


def test_adding_a_run_or_a_round_changes_no_other_draw():
    few = clients("bank").noise(Laplace(), 3, Streams(1, "noise")).take(4)
    more = clients("bank").noise(Laplace(), 5, Streams(1, "noise")).take(6)
    assert (more[:4, :3] == few).all()
    assert not (more[:4, 3] == few[:, 0]).any()


def test_owners_and_runs_draw_independently():
    """20,000 draws each: correlations within 4/sqrt(20,000) = 0.028 of zero."""
    noise = [
        clients(name).noise(Laplace(), 100, Streams(1, "noise")).take(100) for name in ("a", "b")
    ]
    columns = [
        noise[0][:, :50].ravel(),
        noise[0][:, 50:].ravel(),
        noise[1][:, :50].ravel(),
        noise[1][:, 50:].ravel(),
    ]
    assert np.abs(np.corrcoef(columns) - np.eye(4)).max() < 4 / np.sqrt(columns[0].size)
