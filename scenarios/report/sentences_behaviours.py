"""Owners who are not all rational in words: who behaves how, what would be if they were; from result.json alone."""

from __future__ import annotations

from collections.abc import Callable

from scenarios.report.sentences_market import Content
from scenarios.report.wording import counted, in_money, listed, number, percent

Money = Callable[[float | None], str]
NAMED = 4  # owners named one by one
RATIONAL = "rational"


def behaviours(result: Content) -> list[Content]:
    """Who behaves how; none where all are rational."""
    return result.get("behaviours") or []


def who(row: Content) -> str:
    """The owners of a behaviour, by name where they are few."""
    names = row["owners"]
    return listed(names) if len(names) <= NAMED else counted(len(names), "owner")


def called(row: Content) -> str:
    """What a behaviour is called, with its parameters.

    >>> called({"kind": "logit", "parameters": {"precision": 10.0, "against": "now"}})
    'logit (precision 10, against now)'
    """
    told = [
        f"{name.replace('_', ' ')} {_shown(value)}" for name, value in row["parameters"].items() if value is not None
    ]
    return row["kind"].replace("_", " ") + (f" ({', '.join(told)})" if told else "")


def _shown(value: object) -> str:
    return number(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else str(value)


def who_behaves(result: Content) -> list[str]:
    """A sentence or two for each behaviour but the rational."""
    rows = [row for row in behaviours(result) if row["kind"] != RATIONAL]
    return [f"{_begun(called(row))}: {row['title']}. So {_does(row)} {who(row)}." for row in rows]


def _begun(words: str) -> str:
    return words[0].upper() + words[1:]


def _does(row: Content) -> str:
    return "does" if len(row["owners"]) == 1 else "do"


def in_secret(result: Content) -> str:
    """That the learner was told of no ring; empty where there is none."""
    rings = [row for row in behaviours(result) if row["kind"] == "colluders"]
    return "The learner was not told who acts as one: it posted its policy for owners each for itself." if rings else ""


def cheating(result: Content) -> str:
    """How many do not answer as they sold, which nobody but the simulator knows; empty where all do."""
    cheats = [name for row in behaviours(result) for name in row.get("cheats") or ()]
    if not cheats:
        return ""
    named = f" ({listed(cheats)})" if len(cheats) <= NAMED else ""
    verb = "does" if len(cheats) == 1 else "do"
    of_all = f"{len(cheats):,} of {counted(len(result['owners']), 'owner')}{named}"
    return f"{of_all} {verb} not answer as sold, as the simulator alone knows."


def saved_by_cheating(result: Content) -> str:
    """That costs are counted at what was sold, and what owners save by adding more noise; empty where none do."""
    saved, money = sum(row.get("saved") or 0.0 for row in behaviours(result)), in_money(result)
    if not saved:
        return ""
    return f"Costs are counted at what was sold; with the noise really added, these owners lose {money(saved)} less."


def audited(result: Content) -> str:
    """What the audit is expected to bring, and whom it keeps honest; empty where there is none."""
    audit, money = result.get("audit"), in_money(result)
    if not audit:
        return ""
    chance = percent(result["scenario"]["audit"]["chance"])
    honest = sum(not owner["cheats"] for owner in audit["owners"])
    kept = f" It keeps {counted(honest, 'owner')} honest for whom cheating does not pay." if honest else ""
    back, more = money(audit["expected_clawed_back"]), money(audit["expected_penalties"])
    told = f"An audit looks into each owner with a chance of {chance}: {back} is expected back, {more} in penalties."
    return told + kept


def against_rational(result: Content) -> str:
    """What the market would be were all owners rational; empty where they are."""
    rational, now, money = result["equilibrium"].get("benchmark"), result["learner"], in_money(result)
    if not rational:
        return ""
    sure = "" if rational["converged"] else ", though no equilibrium of such owners was certified"
    told = {
        "owners would be paid {} instead of {}": (money, rational["payments"], now["payments"]),
        "the model would be forecast at {} instead of {}": (
            percent,
            rational["relative_fitness"],
            result["forecast"]["relative_fitness"],
        ),
        "the learner would have {} left instead of {}": (money, rational["learner_surplus"], now["surplus"]),
    }
    differing = [
        said.format(show(then), show(is_)) for said, (show, then, is_) in told.items() if show(then) != show(is_)
    ]
    if not differing:
        return f"Were all owners rational, payments, forecast and the learner's gain would be the same{sure}."
    return f"Were all owners rational, {listed(differing)}{sure}."


def no_equilibrium(result: Content) -> str:
    """Where play ended that is no equilibrium; empty where owners are all rational, or stand in one."""
    found, money = result["equilibrium"], in_money(result)
    if not behaviours(result) or found["converged"]:
        return ""
    return (
        f"Where play stood after {counted(found['iterations'], 'round')} is no equilibrium: by moving alone somebody would "
        f"gain {money(found['max_regret'])}."
    )
