"""Trained markets of the reproduction book: as published, and by our own protocol."""
