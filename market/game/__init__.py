"""The game: owners, payoffs, unilateral deviations, best responses by a global search, and regret."""
