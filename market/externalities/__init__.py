"""Externalities: owners whose data tell on each other, and privacy as a public good."""
