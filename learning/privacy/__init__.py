"""Privacy: noise mechanisms, accounting, claims, ledgers and release."""
