"""What a broken rule says, wherever it was found."""

import pickle

import pytest

from learning.collected_errors import InputErrors
from learning.errors import InputError

ONE = InputError("data.split", "may take at most 5 rows", 7, "Lower the sizes.")


@pytest.mark.parametrize("error", [ONE, InputErrors([ONE, InputError("seed", "must be whole")])])
def test_a_worker_hands_it_over_whole(error):
    """An exception that cannot be rebuilt ends the whole pool, which then is said to lack memory."""
    handed = pickle.loads(pickle.dumps(error))
    assert type(handed) is type(error) and str(handed) == str(error)
    assert [str(one) for one in handed.all] == [str(one) for one in error.all]
