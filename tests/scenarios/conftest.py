"""What all tests of scenarios may ask for: the command called in this process, a small table with a scenario."""

from commands import dpmarket, write

__all__ = ["dpmarket", "write"]
