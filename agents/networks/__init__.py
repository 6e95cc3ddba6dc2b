"""Networks: who may sell to whom (trade), who sees whom (sight), who passes answers on (gossip)."""

TRADE = "trade"
SIGHT = "sight"
GOSSIP = "gossip"
