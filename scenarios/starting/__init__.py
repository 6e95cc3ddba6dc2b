"""Starting: a first scenario for a user's own table, told by the rows that will be public and by whose each row is."""
