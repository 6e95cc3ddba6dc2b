"""Externalities: correlated owners, whose sales reveal each other's data."""
