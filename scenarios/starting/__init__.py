"""Starting: a first scenario for a user's own table, from the rows that will be public."""
