"""Tables: a user's file becomes columns, and columns become the data of a market."""

from scenarios.tables.dataset import MarketData, market_data
from scenarios.tables.reading import Table, read_table
from scenarios.tables.selection import Selection, select

__all__ = ["MarketData", "Selection", "Table", "market_data", "read_table", "select"]
