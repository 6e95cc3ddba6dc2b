"""The `dpmarket` command."""
