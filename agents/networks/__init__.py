"""Networks of owners and learners: who may sell to whom (trade), and who sees whom (sight)."""

TRADE = "trade"
SIGHT = "sight"
