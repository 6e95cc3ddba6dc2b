"""Audit: attacks on what owners answer, which bound the epsilon they really give from below."""
