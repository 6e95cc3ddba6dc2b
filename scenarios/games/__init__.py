"""Games that need no table: settled from a file that tells who plays, for what, and from where."""
