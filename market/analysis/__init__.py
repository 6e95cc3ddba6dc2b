"""Analysis: welfare, social optimum, the learner's problem, regulation, the thesis's games."""

from learning.lazy import lazy_names

__getattr__ = lazy_names(
    __name__,
    {
        "optimum": ("social_optimum",),
        "thesis_games": ("thesis_game",),
        "welfare": ("learner_surplus", "welfare"),
    },
)
