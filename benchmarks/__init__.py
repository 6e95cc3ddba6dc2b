"""Speeds, stated as ratios; run all with ``python -m benchmarks``."""
