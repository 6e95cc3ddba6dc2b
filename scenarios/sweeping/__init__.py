"""Sweeps: many scenarios that differ in some keys, by several workers into one table."""
