"""Games that need no table: settled from a file that holds the players and their policy."""
