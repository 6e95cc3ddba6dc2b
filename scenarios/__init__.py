"""What a person runs: scenario files, tables, the loop, reports and the command."""
