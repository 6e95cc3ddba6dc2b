"""Competition: several learners buy from the same owners, whose budgets add up."""
