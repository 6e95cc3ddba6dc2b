"""Costs: what privacy costs its owner, measures of leakage, and answers as channels."""
