"""Supply of privacy at a posted price, and the price at which the learner gains most."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import dpmarket

OWNERS = {
    "owners.epsilon": [0.0, 10.0],
    "owners.cost.kind": "quadratic",  # the marginal cost rises with the budget sold
    "owners.cost.price": [300.0, 400.0, 550.0],
}


def study(prices=tuple(np.geomspace(40, 800, 12))):
    """Settle the market at each price per unit of ε: what each owner sells, what the learner gains."""
    rows = {}
    for price in prices:
        offer = {"policy.kind": "posted", "policy.per": "epsilon", "policy.price": price}
        market = dpmarket.run("three_insurers", OWNERS | offer, training=False)
        rows[price] = {**market.owners["epsilon"], "gain": market["learner"]["surplus"]}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("price per unit of ε")


def draw(table):
    """Draw the supply of each owner, and the learner's gain with its best price."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    table.drop(columns="gain").plot(ax=left, logx=True, ylabel="ε sold")
    table["gain"].plot(ax=right, logx=True, marker="o", ylabel="learner's gain after paying")
    right.axvline(table["gain"].idxmax(), color="grey", linestyle=":")
    return figure


if __name__ == "__main__":
    found = study()
    draw(found).savefig("posted_price.svg")
    print(found.round(3).to_string())
