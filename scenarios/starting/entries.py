"""What a first scenario says, entry by entry, each with its reason and with how to overrule it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from learning.arrays import Array
from learning.cells import as_text
from learning.phrases import format_value, toml_value
from scenarios.report.wording import format_number, format_percent, join_words
from scenarios.starting.guesses import Guesses
from scenarios.starting.money import RANGE, Offer
from scenarios.starting.shares import HOLDOUT, SEED
from scenarios.starting.writing import Entry

REGULARISATION = 0.001
NAMED = 12  # owners whose names are written out


def header(guesses: Guesses, path: Path, out: Path, offer: Offer) -> list[str]:
    """What the file begins with: what it is, what was looked at, and what follows from that."""
    target = format_value(guesses.target.column.name)
    rows = guesses.table.n_rows
    count = len(guesses.holders.sizes)
    owners = f"{count:,} owner{'' if count == 1 else 's'}"
    word = "it trades" if offer.trades else "as it stands, NOTHING IS ASKED: see [policy]"
    return [
        (
            f"A first market for {format_value(path.name)}: {owners}, and a learner who wants to "
            f"predict {target}."
        ),
        "",
        (
            f"Written by `dpmarket init`. Everything here is a guess, and by its forecast {word}. "
            "Change what you know better:"
        ),
        "",
        (
            f"    dpmarket check {out.name}    what a run does, what leaves each owner, how long it "
            "takes"
        ),
        f"    dpmarket run {out.name}      the market, the training, and whether the forecast held",
        "",
        f"Of the table's {rows:,} rows, {guesses.public:,} drawn at random count as the learner's "
        "own, which everybody may "
        "see. All that is said here of columns, categories, ranges and money was told by them, "
        "by the number of rows and by "
        "whose the others are; of these init has looked at nothing else. So no private cell "
        "shows in this file.",
        "",
        "But rows drawn from the owners' own table are public by decree: this is a simulation. "
        "For a real exchange put rows "
        "that the learner really has at the end of the table (public_rows of them, with order = "
        '"as_is"), or set '
        "public_rows = 0, and give ranges under [data.bounds] that are known without looking.",
    ]


def top(name: str) -> list[Entry]:
    """Title and seed."""
    return [
        Entry("title", name),
        Entry("seed", SEED, "of all that is drawn: which rows are public, and all noise"),
    ]


def data(guesses: Guesses, path: str) -> list[Entry]:
    """The [data] table."""
    target = guesses.target
    gaps = guesses.has_gaps
    held = HOLDOUT if len(guesses.holders.division.holdout) else 0.0
    entries = [
        Entry("path", path),
        Entry(
            "target", target.column.name, f"{target.why}; another: dpmarket init --target COLUMN"
        ),
    ]
    if guesses.labels:
        common, rare = guesses.labels
        entries += [Entry("positive", rare, f"counts as +1, the rarer one; {_value(common)} as -1")]
    entries += [
        Entry("features", list(guesses.features.used), _left_out(guesses)),
        *_owners(guesses),
    ]
    entries += [
        Entry(
            "public_rows",
            guesses.public,
            "the learner's own: its model without buying, ranges, categories, forecasts",
        ),
        Entry(
            "holdout", held, "share of the other rows that nobody trains on: they test the model"
        ),
    ]
    if gaps:
        entries += [
            Entry("missing", "fill", "gaps in public rows: by their mean, or a category of its own")
        ]
    if guesses.components:
        reduced = (
            f"{guesses.width:,} encoded columns are reduced to so many principal components "
            "of the public rows"
        )
        entries += [Entry("components", guesses.components, f"{reduced}; or name fewer features")]
    if guesses.person:
        said = (
            "several rows may be one person's: then take this in, and privacy is promised to "
            "the person"
        )
        entries += [Entry("person", guesses.person.name, said, used=False)]
        entries += [Entry("rows_per_person", 1, "that an owner keeps", used=False)]
    return entries


def _left_out(guesses: Guesses) -> str:
    """Why columns are no features."""
    gone = [f"{format_value(name, 30)} ({why})" for name, why in guesses.features.left_out.items()]
    more = f", and {len(gone) - NAMED:,} others" if len(gone) > NAMED else ""
    told = f"Left out: {', '.join(gone[:NAMED])}{more}. " if gone else "All other columns. "
    return (
        f"{told}Take out what is known only after {format_value(guesses.target.column.name)}, "
        "and what nobody should be judged by."
    )


def _owners(guesses: Guesses) -> list[Entry]:
    """Whose the rows are."""
    keys = guesses.holders.keys
    holders = guesses.holders
    owner = guesses.owner
    if owner is None:
        said = (
            "no column is known to say whose a row is: shared out at random, so all owners "
            "are alike. Other numbers: "
        )
        return [
            Entry(
                "split", keys["split"], f"{said}dpmarket init --owners N; a column: --owner COLUMN"
            ),
            Entry("names", keys["names"], "invented"),
        ]
    entries = [
        Entry(
            "owner",
            owner.column.name,
            f"{owner.why}; another: dpmarket init --owner COLUMN, or --owners N",
        )
    ]
    if holders.left_out:
        gone = (
            f"{holders.left_out:,} of {holders.left_out + len(holders.sizes):,} owners are "
            "left out, with fewer records"
        )
        why = (
            "at the budgets of the others their noise would outweigh their records. 2 takes "
            "nearly everybody"
        )
        return [*entries, Entry("min_records", holders.least, f"{gone}: {why}")]
    return [
        *entries,
        Entry("min_records", 2, "owners with fewer records would be left out and listed"),
    ]


def bounds(guesses: Guesses) -> list[Entry]:
    """The [data.bounds] table: a limit on a target with few far values."""
    if guesses.limits is None:
        return []
    said = (
        "what lies beyond counts as these: a public limit on what one record can do, from the "
        "public rows' hundredths"
    )
    return [Entry(guesses.target.column.name, list(guesses.limits), said)]


def learning(guesses: Guesses, mechanism: str) -> list[Entry]:
    """The [learning] table: the loss that the target calls for, and the noise."""
    if guesses.labels:
        two = " and ".join(map(_value, guesses.labels))
        entries = [
            Entry("loss", "logistic", f"two values, {two}; or hinge"),
            Entry("regularisation", REGULARISATION, "above 0, or the best model may not exist"),
        ]
    else:
        many = f"{len(guesses.target.column.values):,} different numbers"
        entries = [Entry("loss", "squared", f"{many} in the public rows")]
    entries += [Entry("algorithm", "averaged", "owners answer gradient queries round by round")]
    if mechanism == "laplace":
        return [
            *entries,
            Entry("mechanism", mechanism, "pure epsilon; gaussian, with a delta, needs less noise"),
        ]
    protects = "protects but for this chance, well below one over the records of an owner"
    return [
        *entries,
        Entry(
            "mechanism",
            mechanism,
            "Laplace noise, pure epsilon, would leave too much error at modest budgets",
        ),
        Entry("delta", guesses.delta, protects),
    ]


def money(guesses: Guesses, offer: Offer, names: Sequence[str]) -> dict[str, list[Entry]]:
    """What privacy costs the owners, what they are paid, what the model is worth: invented, so that trade is possible."""
    paid = offer.price * offer.epsilon
    several = len(names) <= NAMED
    by_name = {name: offer.cost for name in names} if several else {}
    costs = [
        Entry("kind", "quadratic", "each further unit of epsilon costs an owner more"),
        Entry(
            "price",
            offer.cost,
            (
                f"money per half of epsilon squared: at {format_number(offer.epsilon)} an owner loses "
                "half its pay"
            ),
        ),
    ]
    if len(by_name) > 1:
        costs += [Entry("price", by_name, "or one for each owner:", used=False)]
    if offer.trades:
        said = (
            f"each owner sells price / cost, {format_number(offer.epsilon)}, for "
            f"{format_number(paid)}: by forecast the model is then "
            f"{format_percent(offer.bought)} worse than the best possible, the learner's own "
            f"{format_percent(offer.own)}"
        )
    else:
        said = (
            f"NOTHING IS ASKED: even at epsilon = {format_number(offer.epsilon)} no answers beat "
            "the learner's own model, "
            f"{format_percent(offer.own)} worse than the best possible. Fewer features, more "
            "records or fewer public rows may help; "
            "the report of a run says what would"
        )
    chance = f"so that buying pays, by forecast with a chance of {format_percent(offer.chance, 2)}"
    worth = (
        "money per unit of relative fitness: a model 1 % nearer to the best is worth "
        f"{format_number(offer.value / 100)}"
    )
    return {
        "owners": [
            Entry("epsilon", list(RANGE), "lowest and highest privacy budget an owner may choose")
        ],
        "owners.cost": costs,
        "policy": [
            Entry(
                "kind",
                "posted",
                (
                    "a fixed price per unit of epsilon; other kinds: proportional, marginal, "
                    "shapley, ..."
                ),
            ),
            Entry("price", offer.price, said),
        ],
        "learner": [Entry("value", offer.value, f"{worth}; {chance}" if offer.trades else worth)],
    }


def findings(guesses: Guesses, offer: Offer, mechanism: str) -> list[tuple[str, str, str]]:
    """What was guessed, for the terminal: what of, what, and how to overrule it."""
    target = guesses.target
    owner = guesses.owner
    left_out = list(guesses.features.left_out)
    sizes = guesses.holders.sizes
    loss = (
        f"logistic: two values, {' and '.join(map(_value, guesses.labels))}"
        if guesses.labels
        else "squared: numbers"
    )
    gone = guesses.holders.left_out
    small = f", {gone:,} small ones left out" if gone else ""
    whose = f"{len(sizes):,} owners of {_range(sizes)} records{small}"
    rows = [
        ("target", f"{format_value(target.column.name)}, {target.why}", "--target COLUMN"),
        ("loss", loss, "learning.loss"),
        (
            "owners",
            f"column {format_value(owner.column.name)}, {owner.why}: {whose}",
            "--owner COLUMN, --owners N",
        )
        if owner
        else ("owners", f"no column says: {whose}, drawn at random", "--owner COLUMN, --owners N"),
        ("public", f"{guesses.public:,} rows count as the learner's own", "data.public_rows"),
        ("features", f"{len(guesses.features.used)} columns{_reduced(guesses)}", "data.features"),
    ]
    if left_out:
        rows += [
            (
                "left out",
                join_words([format_value(name, 30) for name in left_out], 6),
                "data.features",
            )
        ]
    if guesses.limits:
        rows += [
            (
                "range",
                (
                    f"target cut off at {format_number(guesses.limits[0])} and "
                    f"{format_number(guesses.limits[1])}"
                ),
                "data.bounds",
            )
        ]
    rows += [
        (
            "noise",
            mechanism if mechanism == "laplace" else f"gaussian, delta = {guesses.delta:g}",
            "learning.mechanism",
        )
    ]
    if offer.trades:
        sold = (
            f"each owner sells epsilon = {format_number(offer.epsilon)} for "
            f"{format_number(offer.price * offer.epsilon)}"
        )
        rows += [
            ("money", sold, "owners.cost.price, policy.price"),
            (
                "value",
                (
                    f"{format_number(offer.value)}; buying pays with a chance of "
                    f"{format_percent(offer.chance, 2)}"
                ),
                "learner.value",
            ),
        ]
    else:
        rows += [
            (
                "money",
                "NOTHING IS ASKED: no answers beat the learner's own model",
                "data.features, data.public_rows",
            )
        ]
    return rows


def _reduced(guesses: Guesses) -> str:
    return f", reduced to {guesses.components} components" if guesses.components else ""


def _range(sizes: Array) -> str:
    low = int(sizes.min())
    high = int(sizes.max())
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _value(value: str | float) -> str:
    return toml_value(value) if isinstance(value, str) else as_text(value)
