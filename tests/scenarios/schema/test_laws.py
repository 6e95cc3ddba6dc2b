"""Costs drawn from a law: each owner's own, by seed, and what is no law is refused where it stands."""

import numpy as np
import pytest

from learning.errors import InputError
from market.procurement.cost_laws import Bimodal
from scenarios.schema.kinds import draw_table, read_law
from scenarios.schema.loading import load

LAW = "bimodal:low=100,high=900,share=0.5"


def prices(names=("A", "B", "C"), **changes):
    """The prices of owners under a law, by name."""
    told = {"owners.cost.price": f'"{LAW}"'} | changes
    made = load("three_insurers", [f"{key}={value}" for key, value in told.items()])
    return dict(zip(names, made.in_order_of(names).owners.cost.price, strict=True))


def test_each_owner_draws_its_own_price_whoever_else_is_there():
    first = prices()
    assert prices() == first and len(set(first.values())) == 3
    assert prices(("C", "A", "B")) == first
    assert not set(prices(seed=41).values()) & set(first.values())


def test_prices_follow_their_law():
    """Of 2,000 owners half hardly mind, and quantiles are the law's to within 4 standard errors of a share."""
    section = load("three_insurers", [f'owners.cost.price="{LAW}"']).owners.cost
    found = np.array(
        draw_table(section, [f"owner {i}" for i in range(2000)], "owners.cost", 1).price
    )
    law = Bimodal(100, 900, 0.5)
    for part in (0.1, 0.5, 0.9):
        assert abs((found <= law.quantile(part)).mean() - part) < 4 * np.sqrt(
            part * (1 - part) / 2000
        )


def test_a_law_stays_in_the_file_and_is_one_number_until_owners_are_known():
    made = load("three_insurers", [f'owners.cost.price="{LAW}"'])
    assert f'price = "{LAW}"' in made.to_toml()
    assert made.owners.cost.listed().price == pytest.approx(float(read_law(LAW).quantile(0.5)))


@pytest.mark.parametrize(
    "changes, message",
    [
        (("owners.cost.price=normal:mean=3",), 'known distribution of costs; found .normal.. Did you mean "lognormal"?'),
        (("owners.cost.price=bimodal:lo=3",), "price: must be parameters of bimodal; found 'lo'. Did you mean \"low\"?"),
        (("owners.cost.price=uniform:low=3,high=2",), "price.high: must be above 3"),
        (("owners.cost.price=uniform:low=x",), "price: low must be a number; found 'x'"),
        (("owners.benefit=uniform",), "benefit: must be a number of at least 0, a list"),
        (("policy.kind=posted", "policy.price=uniform"), "policy.price: must be a number of at least 0, a list"),
    ],
)  # fmt: skip
def test_what_is_no_law_is_refused_where_it_stands(changes, message):
    with pytest.raises(InputError, match=message.replace("?", r"\?")):
        load("three_insurers", changes)
