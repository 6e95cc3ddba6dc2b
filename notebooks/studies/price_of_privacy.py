"""What if privacy became dearer to one owner alone, or to all of them?"""

import matplotlib.pyplot as plt
import pandas as pd

import dpmarket

PRICES = (300.0, 400.0, 550.0)  # money per unit of ε, as the library has them


def study(factors=(0.5, 0.75, 1.0, 1.5, 2.0, 3.0)):
    """Settle the market with prices of privacy raised for the first owner, and for all."""
    rows = []
    for factor in factors:
        raised = {"the first owner": (factor, 1, 1), "all owners": (factor, factor, factor)}
        for whose, times in raised.items():
            prices = [price * by for price, by in zip(PRICES, times, strict=True)]
            market = dpmarket.run("three_insurers", {"owners.cost.price": prices}, training=False)
            first, *others = market.owners["epsilon"]
            rows.append((whose, factor, first, sum(others) / 2, market["learner"]["surplus"]))
    columns = ["dearer for", "times", "ε of the first", "mean ε of the others", "learner's gain"]
    return pd.DataFrame(rows, columns=columns)


def draw(table):
    """Draw what the first owner and the others sell, along the factor."""
    figure, panels = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained", sharey=True)
    for axes, (whose, part) in zip(panels, table.groupby("dearer for"), strict=True):
        part.plot("times", ["ε of the first", "mean ε of the others"], ax=axes, marker="o")
        axes.set(title=f"dearer for {whose}", ylabel="ε sold")
    return figure


if __name__ == "__main__":
    found = study()
    draw(found).savefig("price_of_privacy.svg")
    print(found.round(3).to_string(index=False))
