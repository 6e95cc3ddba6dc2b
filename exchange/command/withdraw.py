"""`dpmarket withdraw`: the model of an exchange without an owner's sums."""

from __future__ import annotations

from pathlib import Path

from exchange.command.options import ContractArg, KeyOption
from learning.errors import InputError
from learning.phrases import join_words
from learning.program import declare_command
from learning.terminal import Terminal


@declare_command
def withdraw(
    contract: ContractArg,
    folder: Path | None = None,
    *,
    owner: list[str],
    key: KeyOption = None,
    out: Path | None = None,
) -> None:
    """Solve the model of a finished exchange again without an owner's sums; no owner is queried.

    Parameters
    ----------
    folder FOLDER : The exchange's folder [default: the contract's].
    owner NAME : The owner that withdraws; may be repeated.
    out FILE : The new model [default: model.without-NAME.json in FOLDER]; if the exchange is
        signed, the learner's signed closing of it is written beside it.
    """
    from exchange.contract import open_key, read_contract
    from exchange.folder import owner_slug
    from exchange.learner.withdrawing import close_without, withdraw_owners
    from learning.canonical import check_place
    from scenarios.model_file import to_json

    agreed = read_contract(contract)
    own_key = open_key(key, agreed, None)
    here = folder or contract.parent
    made = withdraw_owners(agreed, here, owner)
    raw = to_json(made).encode()
    names = "-".join(owner_slug(name) for name in agreed.names if name in owner)
    place = check_place(out or here / f"model.without-{names}.json")
    write_same(place, raw)
    if own_key is not None:
        closing = close_without(agreed, here, owner, raw, own_key)
        write_same(place.with_suffix(".closing.json"), closing.raw)
    gone = join_words([name for name in agreed.names if name in owner])
    Terminal().say(
        f"{place} is the model of {join_words(made.asked)}, solved again from their sums. It is "
        f"to the last bit the model that would exist if {gone} had never answered.",
        f"The answer of {gone} remains released. Its ledger gets no budget back, and its claims "
        "hold as before. Everybody with a copy of the answer, or of a model made from it, must "
        "delete the copy.",
    )


def write_same(place: Path, raw: bytes) -> None:
    """Write a file where there is none, or the same; an InputError if another one is there."""
    from exchange.folder import write_new
    from learning.canonical import read_bytes

    if not write_new(place, raw) and read_bytes(place) != raw:
        rule = "must be a new file, or the same model"
        raise InputError("--out", rule, f"another file: {place}", "Name another one.")
