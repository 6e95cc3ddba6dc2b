"""Farokhi, Wu, Smith and Kaafar, The Cost of Privacy in Asynchronous DP Machine Learning: figures 2 to 11."""

from scenarios.reproduce.item import Item
from scenarios.reproduce.timing import collaboration, fraud, hospitals, lending

ITEMS: tuple[Item, ...] = lending.ITEMS + collaboration.ITEMS + hospitals.ITEMS + fraud.ITEMS
