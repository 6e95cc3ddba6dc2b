"""The same records with few owners or many: does competition for one sum buy more privacy?"""

import matplotlib.pyplot as plt
import pandas as pd

import dpmarket

RECORDS = 20_040  # of the library's table, the learner's own aside


def study(counts=(1, 2, 3, 5, 8, 12)):
    """Settle the market with the records divided equally among so many owners."""
    rows = {}
    for count in counts:
        division = {
            "data.split": [RECORDS // count] * count,
            "data.names": [f"Owner {k + 1}" for k in range(count)],
            "owners.cost.price": 400.0,
            "policy.budget": 2000.0,
        }
        market = dpmarket.run("three_insurers", division, training=False)
        epsilon, surplus = market.owners["epsilon"].mean(), market["welfare"]["owners"]
        error = 100 * market["forecast"]["relative_fitness"]
        rows[count] = {"ε of each": epsilon, "error, %": error, "owners' surplus": surplus}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("owners")


def draw(table):
    """Draw budget, error and surplus along the number of owners."""
    figure, panels = plt.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
    for axes, name in zip(panels, table.columns, strict=True):
        table[name].plot(ax=axes, marker="o", ylabel=name)
    return figure


if __name__ == "__main__":
    found = study()
    draw(found).savefig("how_many_owners.svg")
    print(found.round(3).to_string())
