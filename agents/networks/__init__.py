"""Networks of owners and learners: who may sell to whom, and who sees whose budget."""
