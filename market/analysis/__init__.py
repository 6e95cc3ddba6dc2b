"""Analysis: welfare, the learner's problem, regulation, and the thesis's own games."""
