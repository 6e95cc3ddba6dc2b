"""Sentences on noise that owners make together, of which the learner sees sums only."""

from __future__ import annotations

from scenarios.report.sentences_market import Content
from scenarios.report.wording import number


def together(result: Content) -> str:
    """Who makes the noise, and what that rests on; empty where every answer carries noise of its own."""
    trust = result.get("trust")
    if not trust:
        return ""
    known, makers = trust["colluders"], trust["owners"]
    enough = (
        f"the parts of any {makers - known} of them make up all of it, so that {known} may be known" if known else ""
    )
    parts = f" ({enough})" if enough else ""
    return (
        f"The learner sees sums of all owners' answers only. The {makers} owners who share make one noise together{parts}, "
        "as much as the strictest of them needs for what it sold: who sold more is protected as well as that allows. This "
        "rests on an aggregation that shows sums and nothing else, and on owners who all add their part and stay to the "
        "end; here it is simulated."
    )


def between_owners(result: Content) -> str:
    """What holds against another owner, who knows its own part, and where one drops out; empty elsewhere."""
    trust = result.get("trust")
    if not trust or trust["owners"] < 2:
        return ""
    return f"Against another owner, who knows its own part of the noise, {_known(trust)}. {_dropped(trust)}"


def _known(trust: Content) -> str:
    epsilon = trust["against_owners"]
    if epsilon is None:
        return "nothing is promised: with trust.colluders = 1 the same would hold as against the learner"
    return f"ε is at most {number(epsilon)}"


def _dropped(trust: Content) -> str:
    if trust["after_dropout"] is None:
        return "Where an owner drops out, its part is missing, and nothing is promised to anybody."
    if trust["colluders"]:
        left = trust["colluders"] - 1
        held = f"against {left} who may collude" if left else "as long as nobody colludes"
        return f"Where an owner drops out, its part is missing: the promises then hold {held}."
    return f"Where an owner drops out, its part is missing: ε is then at most {number(trust['after_dropout'])}."


def trust_line(result: Content) -> str:
    """The same in a line of the terminal; empty where every answer carries noise of its own."""
    trust = result.get("trust")
    if not trust:
        return ""
    known = f", {trust['colluders']} of whom may tell their parts" if trust["colluders"] else ""
    others = "" if trust["owners"] < 2 else f"; against another owner {_known(trust)}"
    return f"the learner sees sums only, under noise that {trust['owners']} owners make together{known}{others}"
