"""Audit: attacks on owners' answers, and checks of their training, against the claims."""

from learning.audit.auditor import Finding, audit_owner, audit_owners
from learning.audit.checks import check_training
from learning.audit.observations import AuditTarget
from learning.audit.verdicts import Check

__all__ = ["AuditTarget", "Check", "Finding", "audit_owner", "audit_owners", "check_training"]
