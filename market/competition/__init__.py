"""Competition: several learners buy from the same owners, whose budgets add up."""

from learning.lazy import lazy_names

__getattr__ = lazy_names(
    __name__, {"market": ("Competition", "Learner"), "solver": ("solve_competition",)}
)
