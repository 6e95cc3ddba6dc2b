"""The equilibrium of a scenario: its game, and the ways to settle it."""
