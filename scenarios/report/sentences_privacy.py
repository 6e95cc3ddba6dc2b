"""Privacy in words: what a budget means, what is promised, and what to know before believing it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from learning.privacy.beliefs import belief
from learning.privacy.promises import weakest
from scenarios.report.sentences_market import Content, budgets_sold, edge_of_refusal, epsilon_of
from scenarios.report.wording import limit, listed, natural, number, percent, span
from scenarios.summary import verdict

COUNTED = "counted by the simulator's privilege"  # what no party to the market can count
# How sure whoever sees all answers can become of one of two versions of a record that are equally likely before, and what
# that is called here. No standard names protections. The steps are those of an error: under pure differential privacy they
# stand at ε = 0.1, ln 3 (the largest that Dwork 2011, A firm foundation for private data analysis, still counts among the
# usual ones), 2.9 (one error in twenty, where tests begin to call a thing shown) and 6.9 (one in a thousand).
STRENGTHS = ((0.525, "very strong"), (0.75, "strong"), (0.95, "moderate"), (0.999, "weak"))
LEAST = "very weak"
MISSING = "missing"  # where delta allows publishing a whole record outright: an onlooker may become certain
NOTHING_PROMISED = "the guarantee allows publishing a whole record outright"
UNSURE = 1 - 2.0**-53  # the largest probability below certainty
CERTAIN = 0.9995  # reads as certainty when it is rounded


def protection(epsilon: float | None, sure: float | None = None, *, short: bool = False) -> str:
    """What a privacy budget means: how sure a spy who sees all answers can become about one record.

    Between two versions of a record that look equally likely, pure differential privacy at ε lets the surer one
    rise to e^ε/(1 + e^ε) at most; under (ε, δ) it depends on the noise, and comes with the promise (`belief_of`).

    >>> protection(0.5).replace(chr(160), " ")
    'strong: an even guess about a record becomes at most 62.2 % sure'
    >>> protection(None)
    'none: shared without protection'
    """
    value = limit(epsilon)
    if value == 0:
        return "total: nothing is shared"
    if math.isinf(value):
        return "none: shared without protection"
    sure = surest(value) if sure is None else sure
    if sure >= 1:
        return f"{MISSING}: {NOTHING_PROMISED}"
    if short:
        return f"{strength(sure)}, {sure_words(sure).removeprefix('at most ')}"
    return f"{strength(sure)}: an even guess about a record becomes {sure_words(sure)}"


def surest(epsilon: float) -> float:
    """How sure whoever sees all answers can become of an even guess under pure differential privacy."""
    return min(1 / (1 + math.exp(-epsilon)), UNSURE)


def strength(sure: float) -> str:
    """Name the protection under which an even guess may become so sure; certainty is none.

    >>> strength(0.6), strength(0.9998), strength(1.0)
    ('strong', 'very weak', 'missing')
    """
    return next((word for most, word in STRENGTHS if sure <= most), LEAST if sure < 1 else MISSING)


def sure_words(sure: float) -> str:
    return f"at most {percent(sure)} sure" if sure <= CERTAIN else "all but certain"


def belief_of(claim: Mapping[str, Any], records: int) -> tuple[float, float]:
    """How sure who looks on can become, and but for what chance; of earlier results, what any (ε, δ) allows.

    Certain where delta is at least one over the records: publishing one of them outright would keep the promise.

    Parameters
    ----------
    claim: as results hold it.
    records: how many the owner has.

    >>> belief_of({"surest": 0.751, "but_for": 0.5, "delta": 0.5}, 40)
    (1.0, 0.0)
    """
    if claim["delta"] * records >= 1:
        return 1.0, 0.0
    if claim.get("surest") is not None:
        return min(claim["surest"], UNSURE), claim["but_for"]
    slack = 2 * claim["delta"]
    return min(float(belief(epsilon_of(claim), claim["delta"], slack)), UNSURE), slack


def weakest_promises(result: Content) -> dict[str, Mapping[str, Any]]:
    """The weakest promise to each owner that has any."""
    return weakest(result["claims"])


def promised(claim: Mapping[str, Any], records: int) -> str:
    """What a promise means: `protection` with how sure a spy can become under its own noise."""
    return protection(claim["epsilon"], belief_of(claim, records)[0], short=True)


def exceptions(result: Content) -> str:
    """But for what chance the words of `promised` hold, of the owners' promises; empty under pure differential privacy."""
    return but_for_words(max((chance for _, chance in beliefs(result).values()), default=0.0))


def beliefs(result: Content) -> dict[str, tuple[float, float]]:
    """How sure who sees most can become of each owner with a promise, and but for what chance."""
    records = {owner["name"]: owner["records"] for owner in result["owners"]}
    return {name: belief_of(claim, records[name]) for name, claim in weakest_promises(result).items()}


def but_for_words(chance: float) -> str:
    """But for what chance something holds; empty where it holds without."""
    return f", but for a chance of {number(chance)}" if chance else ""


def weaker_than_sold(result: Content) -> str:
    """A warning where the noise, a paper's formula, protects less than the budget sold; empty elsewhere."""
    return "".join(map(weaker, verdict.weaker_than_sold(result)))


def weaker(fact: Mapping[str, Any]) -> str:
    """A fact of `verdict.weaker_than_sold` in words."""
    if fact.get("given_bound"):
        epsilon = epsilon_of(fact)
        held = f"ε is {number(epsilon)}" if math.isfinite(epsilon) else "nothing holds: no ε is proved"
        return (
            f"Noise is scaled to {number(fact['given_bound'])}, a bound on a record's gradient that the scenario gives, "
            f"and not to the one that is proved. Where {number(fact['sold'])} was sold, {held}."
        )
    return (
        "The noise is what a paper's formula says for the budgets sold, and protects less: against who sees most, "
        f"ε is {number(epsilon_of(fact))} where {number(fact['sold'])} was sold."
    )


def published_noise(result: Content) -> str:
    """A word where the noise is a paper's formula, and protects more than the budget sold; empty elsewhere."""
    if verdict.weaker_than_sold(result) or not verdict.promised_and_sold(result):
        return ""
    return "The noise is what a paper's formula says for the budgets sold, and protects more: the table says how much."


def by_kind(claims: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Promises alike in all but to whom they are made and ε, each kind once: how many, and between which ε they lie.

    >>> by_kind([{"party": name, "epsilon": e, "delta": 0.0} for name, e in (("A", 1.0), ("B", 2.5))])
    [{'delta': 0.0, 'party': 'A and B', 'epsilon': '1 to 2.5'}]
    """
    kinds: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for claim in claims:
        kinds.setdefault(tuple(claim[key] for key in claim if key not in APART), []).append(claim)
    return [
        {key: alike[0][key] for key in alike[0] if key not in APART}
        | {"party": _to_whom(alike), "epsilon": span([epsilon_of(claim) for claim in alike])}
        for alike in kinds.values()
    ]


def by_party(claims: Sequence[Mapping[str, Any]], most: int) -> Sequence[Mapping[str, Any]]:
    """The promises by whom they are made to, 2 before 10; as they are where they are more than are shown."""
    return sorted(claims, key=lambda claim: natural(claim["party"])) if len(claims) <= most else claims


APART = ("party", "epsilon", "surest", "but_for", "joint_epsilon")


def _to_whom(alike: Sequence[Mapping[str, Any]]) -> str:
    names = [claim["party"] for claim in alike]
    return listed(names) if len(names) < 4 else f"{len(names):,} promises"


def several_onlookers(result: Content) -> bool:
    """Whether promises are against several kinds of onlookers."""
    return len({claim["protects_against"] for claim in result["claims"]}) > 1


def joint_promises(result: Content) -> str:
    """What a record of several owners loses to who sees all their answers; empty where it is taken to sit with one."""
    kappa = max((claim.get("overlap", 1) for claim in result["claims"]), default=1)
    if kappa == 1:
        return ""
    joint, sold = [epsilon_of(claim) for claim in result["claims"] if claim["joint"]], budgets_sold(result)
    if not joint:
        return f"A record may sit with {kappa} owners, and one that also sits with who adds no noise is not protected."
    return (
        f"A record may sit with {kappa} owners (κ). Who sees all their answers learns of it as at ε = {span(joint)}, "
        f"where budgets of {span(sold)} were sold; each owner's own promise is for a record whose owners all sell as much."
    )


def warnings(result: Content) -> list[str]:
    """What to know before believing the promises."""
    return [WARNINGS[fact["cause"]](fact) for fact in result["warnings"]]


def shared_records(result: Content) -> str:
    """A warning where more owners hold the same row than the scenario states; empty where all is as stated."""
    return identical_records(result["data"].get("identical_records"), result["scenario"]["learning"].get("overlap", 1))


def shared_persons(result: Content) -> str:
    """A warning where a person has rows at more owners than the scenario states; empty where all is as stated."""
    return persons_beyond(result["data"].get("persons"), result["scenario"]["learning"].get("overlap", 1))


def persons_counted(result: Content) -> str:
    """What became of persons with several rows; empty where the unit is a record, or nothing did."""
    return persons_left_out(result["data"].get("persons"), result["scenario"]["data"].get("rows_per_person") or 1)


_REPORTED = {
    True: "the owners' records are not of one kind with each other and the learner's own rows.",
    False: "owners are not alike in kind.",
}


def _nothing_shown(fact: Mapping[str, Any]) -> str:
    if "p_value" not in fact:
        return "no public row can tell"
    return f"their loss reports show nothing else (p = {number(fact['p_value'], 2)}), under their noise"


WARNINGS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "weaker_than_sold": weaker,
    "oracle_basis": lambda fact: (
        "Without public rows the forecast, and with it every budget and payment, is made from the owners' records by the "
        "simulator's privilege (the oracle basis): one record can move them, and no noise covers that."
    ),
    "large_delta": lambda fact: (
        f"delta = {number(fact['delta'])} is not below one over the {fact['records']:,} records of the smallest owner: a "
        "mechanism that gives away a whole record now and then would keep this promise."
    ),
    "owners_unlike": lambda fact: (
        f"The public rows differ from owner to owner by more than chance (p = {number(fact['p_value'], 2)}): owners are not "
        "alike in kind. Weights away from numbers of records then move the model, which the forecast and its interval count."
    ),
    "reports_unlike": lambda fact: (
        "What the owners reported that their records lose under the learner's own model differs by more than chance (p = "
        f"{number(fact['p_value'], 2)}): {_REPORTED[fact['nameless']]} How far that puts the forecast off is not known "
        "well; its interval and the chance that buying pays count what it may come to."
    ),
    "order_as_is": lambda fact: (
        "Owners hold consecutive rows of the file, and the public rows are its last ones. The forecast takes all of them "
        f"to be alike, and {_nothing_shown(fact)}: if the file has an order, it does not hold. Its interval and the "
        "chance that buying pays count that. The owners' first answers will tell."
    ),
    "edge_of_refusal": edge_of_refusal,
    "told_by_others": lambda fact: (
        f"Owners have something in common: what the others sell tells {percent(fact['part'])} of what {fact['name']}'s "
        "records tell, and no promise to an owner covers what others sell."
    ),
    "benefit_tells": lambda fact: (
        "Owners who want the model choose their budgets by how good their own is on the public rows, which depends on their "
        "records: a budget that others see tells of them, and no noise covers that."
    ),
}


def unlike_owners(forecast: Content) -> str:
    """That public rows or loss reports show several kinds, which a forecast counts; empty where they do not."""
    found, reports = forecast["between_owners"], forecast.get("reports")
    if reports and reports["differ"]:
        return WARNINGS["reports_unlike"](reports)
    return WARNINGS["owners_unlike"](found) if found and found["differ"] else ""


def loss_reports(result: Content) -> str:
    """What owners were asked before trading, and what that spent; empty where they were not."""
    asked = result["forecast"].get("reports")
    if not asked:
        return ""
    return (
        f"Before trading every owner reported, under Laplace noise at ε = {number(asked['epsilon'])}, how much its records "
        f"lose on average under the learner's own model, each counted up to {number(asked['bound'])}. That is part of the ε "
        "that it sells, and of its promise; answers in training spend the rest. It is spent also where nothing more is "
        "asked, and nothing is paid for it by itself."
    )


def filled_cells(found: int | None) -> str:
    """How many cells of the owners' records count as the public fill; empty where none does.

    Parameters
    ----------
    found: their number, as result.json has it; None in results of earlier versions.
    """
    if not found:
        return ""
    return (
        f"{found:,} {'cell is' if found == 1 else 'cells are'} missing from the owners' records, or not what the public rows "
        f"show of the column ({COUNTED}): filled from the public rows"
    )


def persons_left_out(found: Content | None, most: int) -> str:
    """What became of persons with several rows, of whom an owner keeps the most; empty where nothing did.

    Parameters
    ----------
    found: what was counted, as result.json has it; None where the unit is a record.
    most: the rows of one person that an owner keeps.
    """
    left = found and found["left_out"]
    return f"{left:,} rows left out by their owners, who keep {most} of a person ({COUNTED})" if left else ""


def persons_beyond(found: Content | None, stated: int) -> str:
    """A warning where a person has rows at more owners than the scenario states; empty where all is as stated.

    No run is refused for it: owners' rows are not the learner's to count, and a refusal would tell of them.

    Parameters
    ----------
    found: what was counted, as result.json has it; None where the unit is a record.
    stated: the number of owners that one person may have rows at, as the scenario says.
    """
    if not found or found["kappa"] <= stated:
        return ""
    return (
        f"{found['shared']:,} persons have rows at several owners ({COUNTED}), one at {found['kappa']}, and learning.overlap "
        f"= {stated}: of a person with more owners, what each owner promises holds against who sees its own answers, and "
        f"nothing is promised against who sees those of all. Set it to {found['kappa']}"
    )


def identical_records(found: Content | None, stated: int) -> str:
    """A warning where more owners hold the same row than the scenario states; empty where all is as stated.

    Parameters
    ----------
    found: the rows that several owners hold, as result.json has them; None in results of earlier versions.
    stated: the number of owners that one row may sit with, as the scenario says.
    """
    if not found or found["kappa"] <= stated:
        return ""
    return (
        f"{found['rows']:,} records are identical to another owner's ({COUNTED}), one row sits with {found['kappa']} "
        f"owners, and learning.overlap = {stated}: chance in coded data, or one person with several owners? Then set it to "
        f"{found['kappa']}"
    )
