"""Training: the plan, the exact law of descent, an owner's client, one file per algorithm, and baselines."""
