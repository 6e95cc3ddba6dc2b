"""What a result holds, counted up from the pieces of a run: facts, and no sentence."""
