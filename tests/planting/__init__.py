"""Bugs planted on purpose, one at a time, which an audit should see."""
