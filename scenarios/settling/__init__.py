"""How the market of a scenario settles: its owners, who chooses how and among whom, and under which rules."""
