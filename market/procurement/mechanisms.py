"""The mechanisms that buy privacy from owners with private costs (MECHANISMS), by name."""

from market.procurement.auctions import (
    AllIn,
    ClarkePivot,
    FairQuery,
    MinCost,
    PayAsBid,
    ProportionalShare,
    ShapleyShare,
)
from market.procurement.compensation import Compensated
from market.procurement.contracts import Menu, TwoContracts, VirtualCost
from market.procurement.mechanism import ProcurementMechanism
from market.procurement.offers import Ladder, PostedPrice
from market.procurement.paid_quality import PaidQuality

MECHANISMS: dict[str, type[ProcurementMechanism]] = {
    "fair_query": FairQuery,
    "min_cost": MinCost,
    "posted": PostedPrice,
    "ladder": Ladder,
    "virtual_cost": VirtualCost,
    "menu": Menu,
    "proportional": ProportionalShare,
    "vcg": ClarkePivot,
    "shapley": ShapleyShare,
    "menu_2": TwoContracts,
    "pay_as_bid": PayAsBid,
    "all_in": AllIn,
    "paid_quality": PaidQuality,
    "compensated": Compensated,
}
