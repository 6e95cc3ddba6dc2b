"""The commands of an exchange."""
