"""Reproduction of the sources: an item for each figure, table and erratum, and their book."""
