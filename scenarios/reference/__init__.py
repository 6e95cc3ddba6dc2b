"""Generated parts of docs/reference: keys of files, options of the command, fields of results."""
