"""A settled market carried out for real: a contract, questions, answers; each party alone with what is its own."""

from learning.exchange.contract import Contract, read_contract
from learning.exchange.messages import Answer, Query, read_answer, read_query

__all__ = ["Answer", "Contract", "Query", "read_answer", "read_contract", "read_query"]
