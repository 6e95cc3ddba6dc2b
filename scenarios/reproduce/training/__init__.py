"""Markets of the reproduction book, trained: as the papers have it, and by this program's own protocol."""
