"""Tables: a user's file becomes columns, and columns become the data of a market."""
