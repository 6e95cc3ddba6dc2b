"""The generated parts of docs/reference: keys of scenario files, options of the command, fields of results."""
