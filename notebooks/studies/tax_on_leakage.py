"""A tax on every bit that a record may leak: who pays it, and what it does to the model."""

import matplotlib.pyplot as plt
import pandas as pd

import dpmarket


def study(taxes=(0.0, 0.005, 0.01, 0.02, 0.04, 0.08)):
    """Settle the market at each tax: budgets, the error, and how welfare is divided."""
    rows = {}
    for tax in taxes:
        rule = {"owners.epsilon": [0.0, 10.0]}
        if tax:
            rule["regulation.leakage_tax"] = tax
        market = dpmarket.run("three_insurers", rule, training=False)
        shares = {who: market["welfare"][who] for who in ("owners", "learner", "treasury")}
        error = 100 * market["forecast"]["relative_fitness"]
        rows[tax] = {"mean ε": market.owners["epsilon"].mean(), "error, %": error, **shares}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("tax a bit")


def draw(table):
    """Draw the error, and the welfare of owners, learner and treasury, along the tax."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    table["error, %"].plot(ax=left, marker="o", ylabel="error, % above the best possible")
    table[["owners", "learner", "treasury"]].plot(ax=right, marker="o", ylabel="welfare")
    return figure


if __name__ == "__main__":
    found = study()
    draw(found).savefig("tax_on_leakage.svg")
    print(found.round(3).to_string())
