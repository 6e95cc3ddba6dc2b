"""Records: columns of a table become each owner's records under public bounds, and shared rows."""
