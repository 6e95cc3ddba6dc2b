"""What should an owner's share of a sum count: its records, its budget, or both?"""

import matplotlib.pyplot as plt
import pandas as pd

import dpmarket

RULES = {"records × ε": "records_epsilon", "ε": "epsilon", "records × ε²": "records_epsilon2"}
OWNERS = {"owners.epsilon": [0.0, 10.0], "owners.cost.price": [300.0, 400.0, 550.0]}
SIZES = {"data.split": [12000, 5040, 3000]}  # one large owner, and two smaller ones


def study(budgets=(500, 1000, 2000, 4000)):
    """Settle the market under each rule and budget: the forecast error, and what the large owner sells."""
    rows = []
    for rule, basis in RULES.items():
        for budget in budgets:
            offer = {"policy.basis": basis, "policy.budget": float(budget)}
            market = dpmarket.run("three_insurers", SIZES | OWNERS | offer, training=False)
            error = market["forecast"]["relative_fitness"]
            rows.append((rule, budget, 100 * error, market.owners["epsilon"].iloc[0]))
    return pd.DataFrame(rows, columns=["rule", "budget", "error, %", "ε of the large owner"])


def draw(table):
    """Draw error and ε along the budget, a line for each rule."""
    figure, panels = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    for axes, column in zip(panels, ["error, %", "ε of the large owner"], strict=True):
        table.pivot(index="budget", columns="rule", values=column).plot(ax=axes, ylabel=column)
    return figure


if __name__ == "__main__":
    found = study()
    draw(found).savefig("rules_at_equal_money.svg")
    print(found.round(3).to_string(index=False))
