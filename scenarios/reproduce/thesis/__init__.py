"""The thesis: bounds on leakage and utility against channels (chapter 2), and the games that are played for them (4)."""

from scenarios.reproduce.item import Item
from scenarios.reproduce.thesis.belief import BELIEF
from scenarios.reproduce.thesis.cost import COST
from scenarios.reproduce.thesis.games import LEAKAGE, UTILITY
from scenarios.reproduce.thesis.leakage import LEAKAGE_BOUND
from scenarios.reproduce.thesis.utility import UTILITY_BOUND

ITEMS: tuple[Item, ...] = (LEAKAGE_BOUND, UTILITY_BOUND, BELIEF, COST, LEAKAGE, UTILITY)
