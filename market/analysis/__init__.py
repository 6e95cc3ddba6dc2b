"""Analysis: welfare, social optimum, the learner's problem, regulation, the thesis's games."""
