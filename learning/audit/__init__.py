"""Audit: attacks on owners' answers, and checks of their training, against the claims.

auditor, attack, observations: attacks on single records, by worst_pairs and label_pairs
checks: all checks of a training that transcript has watched, judged by verdicts
exact_checks, canaries, reference: records, bounds, prices and accounts
dependence, single_numbers: statistical tests of noise and picks
accountant: what noise of a known law spends, by that law alone
"""

from learning.audit.auditor import Finding, audit_owner, audit_owners
from learning.audit.checks import check_training
from learning.audit.observations import AuditTarget
from learning.audit.verdicts import Check

__all__ = ["AuditTarget", "Check", "Finding", "audit_owner", "audit_owners", "check_training"]
