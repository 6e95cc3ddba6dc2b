"""A rehearsal of an exchange on a scenario's table, with every party as a process of its own."""
