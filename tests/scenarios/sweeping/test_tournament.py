"""Tournaments: who meets whom, how policies stand, and which of them work for perfect reasoners only."""

import pyarrow as pa
import pytest

from learning.errors import InputError
from scenarios.report import facts_study
from scenarios.report.facts_study import standing_cells
from scenarios.report.page import render_page
from scenarios.report.phrases import public_functions, render_lines
from scenarios.sweeping.standings import standing_rows, standings
from scenarios.sweeping.study import Study, read_study

POLICIES = [
    {"name": "Posted", "policy": {"kind": "posted", "price": 600.0}},
    {"name": "Share", "policy.kind": "proportional", "policy.budget": 2000.0},
]
NOISY = {"name": "noisy", "kind": "logit", "precision": 2.0}
INERT = {"name": "inert", "kind": "inertial"}
# By policy and mix, the scores of two seeds: Posted is best among rational owners and loses with
# the noisy.
SCORES = [[(10.95, 11.05), (-4.0, -4.2)], [(6.0, 6.0), (5.0, 7.0)]]


def study(**changed):
    """A study that is a tournament of two policies."""
    contest = {
        "policies": POLICIES,
        "behaviours": [NOISY],
        "shares": [1.0],
        "score": "learner.surplus",
    }
    given = {"scenario": "three_insurers", "replications": 2, "tournament": contest}
    return Study.model_validate(given | changed)


def table(scores=SCORES):
    """The cells of that study, with these scores."""
    cells = [pair for policy in scores for pair in policy]
    rows = [
        (number, seed, value)
        for number, pair in enumerate(cells, 1)
        for seed, value in enumerate(pair, 1)
    ]
    return pa.table(
        dict(
            zip(
                ("cell", "replication", "learner.surplus"),
                map(list, zip(*rows, strict=True)),
                strict=True,
            )
        )
    )


def test_every_policy_meets_every_mix_and_each_behaviour_comes_in_every_share_and_pair():
    contest = {
        "policies": POLICIES,
        "behaviours": [NOISY, INERT],
        "shares": [0.3, 1.0],
        "pairs": True,
    }
    made = study(tournament=contest)
    mixes = [mix.name for mix in made.tournament.mixes]
    assert mixes == [
        "all rational",
        "30 % noisy",
        "100 % noisy",
        "30 % inert",
        "100 % inert",
        "half noisy, half inert",
    ]
    rare = INERT | {"shares": [0.1]}
    apart = study(
        tournament=contest | {"behaviours": [NOISY, rare], "pairs": False}
    ).tournament.mixes
    assert [mix.name for mix in apart] == [
        "all rational",
        "30 % noisy",
        "100 % noisy",
        "10 % inert",
    ]
    assert apart[-1].changes == {"behaviours": [{"kind": "inertial", "share": 0.1}]}
    titles = [step[0] for step in made.axes[0].steps]
    assert titles == [f"{policy['name']} | {mix}" for policy in POLICIES for mix in mixes]
    last = dict(zip(made.keys, made.axes[0].steps[-1], strict=True))
    assert last["policy.budget"] == 2000.0 and last["policy.price"] is None
    assert last["behaviours"] == [
        {"kind": "logit", "precision": 2.0, "share": 0.5},
        {"kind": "inertial", "share": 0.5},
    ]


def test_standings_are_savages_and_name_the_policy_for_perfect_reasoners_only():
    rows = standings(study(), table())
    assert [(row.policy, row.max_regret) for row in rows] == [
        ("Share", 5.0),
        ("Posted", pytest.approx(10.1)),
    ]
    posted = rows[1]
    assert posted.failing == (1,) and posted.worst == 1 and not rows[0].failing
    assert posted.lost[1].mean == pytest.approx(15.1)  # 14.95 and 15.25, seed by seed
    assert rows[0].regret == (5.0, 0.0)
    told = standing_rows(study(), rows)
    assert [row["fails"] for row in told] == [False, False, False, True] and told[0]["lost"] == 0.0
    said = " ".join(render_lines("tournament", "verdicts", study(), rows))
    assert (
        "“Posted” works only if all owners are rational" in said
        and "If all owners are rational, “Posted” is best" in said
    )
    assert standing_cells(study(), posted)[3] == "100 % noisy"


def test_a_cost_within_its_interval_does_not_damn_a_policy_and_a_missing_cell_does_not_count():
    rows = standings(study(), table([[(10.95, 11.05), (-19.0, 5.0)], [(6.0, 6.0), ()]]))
    assert not any(row.failing for row in rows)
    assert {row.policy: row.scores[1] is None for row in rows} == {"Share": True, "Posted": False}
    assert "No policy that gains with rational owners is shown to do worse" in " ".join(
        render_lines("tournament", "verdicts", study(), rows)
    )
    assert list(
        render_lines(
            "tournament", "verdicts", study(), standings(study(), table([[(None, None)] * 2] * 2))
        )
    ) == ["No policy could be scored."]


def test_its_page_holds_every_mix_and_score():
    page = render_page(
        "study.html.j2",
        {},
        study=study(),
        standings=standings(study(), table()),
        points=[],
        figures={},
        **dict.fromkeys(("title", "question", "computed", "failure", "name"), ""),
        STANDING_HEADS=facts_study.STANDING_HEADS,
        **public_functions(facts_study),
    )
    for text in ("all rational", "100 % noisy", "<b>11</b>", "−4.1", "Posted"):
        assert text in page, text


@pytest.mark.parametrize(
    "contest, words",
    [
        ({"policies": []}, "policies: must be tables"),
        ({"policies": [{"policy.kind": "posted"}]}, "policies.name: must be a text"),
        ({"policies": [POLICIES[0], POLICIES[0]]}, "must differ from table to table"),
        ({"shares": [0.0]}, "shares: must be different numbers above 0"),
        ({"pears": True}, 'pears: is not a known key; found true. Did you mean "pairs"?'),
        ({"score": "profit"}, "tournament.score: must name facts"),
        ({"score": "validation.money.pays"}, "needs training"),
        ({"policies": [{"name": "a", "behaviours": []}]}, "must not set behaviours: mixes do"),
    ],
)
def test_bad_tournaments_are_refused_in_one_line(contest, words):
    given = {"policies": POLICIES, "behaviours": [NOISY]} | contest
    with pytest.raises(InputError) as caught:
        read_study({"scenario": "three_insurers", "tournament": given})
    assert words in str(caught.value) and "\n" not in str(caught.value)


def test_a_tournament_has_a_study_of_its_own():
    given = {"policies": POLICIES, "behaviours": [NOISY]}
    with pytest.raises(InputError, match="must be the only thing that varies"):
        read_study({"scenario": "three_insurers", "grid": {"seed": [1, 2]}, "tournament": given})
