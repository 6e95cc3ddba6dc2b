"""Sweeps: many scenarios that differ in some keys, settled by several workers into one table that no kill can spoil."""
