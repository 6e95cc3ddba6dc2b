"""Forecasts: what the learner knows before it asks, how good the model will be, and how far that may be off."""
