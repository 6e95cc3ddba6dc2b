"""Scenarios as a person runs them: scenario files, tables, the loop, reports and the command."""
