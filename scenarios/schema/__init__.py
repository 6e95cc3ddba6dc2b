"""The scenario file: every key with its rule and default, and how a file is read."""
