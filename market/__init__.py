"""Who wants what in a market for private data, and what they settle on."""
