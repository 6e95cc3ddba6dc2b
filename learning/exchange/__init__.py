"""A settled market carried out for real: a contract, questions, answers; each party alone with what is its own."""
