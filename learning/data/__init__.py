"""Records: columns of a table become each owner's records under public bounds; rows that owners share."""
