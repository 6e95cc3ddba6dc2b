"""Secure aggregation: keys, masks and shares, by which a learner reads a total and nothing else."""
