"""Figures of The Value of Collaboration in Convex Machine Learning with Differential Privacy, computed anew."""

from scenarios.reproduce.collaboration import four, paths, slopes, surfaces
from scenarios.reproduce.item import Item

_ALL = (*paths.ITEMS, *surfaces.ITEMS, *slopes.ITEMS, *four.ITEMS)
ITEMS: tuple[Item, ...] = tuple(sorted(_ALL, key=lambda item: int(item.key.partition("-")[2])))
