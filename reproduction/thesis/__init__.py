"""The thesis: bounds on leakage and utility (chapter 2), and the compensation games (chapter 4)."""

from reproduction.item import Item
from reproduction.thesis.belief import BELIEF
from reproduction.thesis.cost import COST
from reproduction.thesis.games import LEAKAGE, UTILITY
from reproduction.thesis.leakage import LEAKAGE_BOUND
from reproduction.thesis.utility import UTILITY_BOUND

ITEMS: tuple[Item, ...] = (LEAKAGE_BOUND, UTILITY_BOUND, BELIEF, COST, LEAKAGE, UTILITY)
