"""Policies: what owners are paid for their privacy budgets."""
