"""Audit: attacks on what owners answer, and checks of the training that they answer in, against what is claimed."""

from learning.audit.auditor import Finding, audit, audit_owner
from learning.audit.checks import check_training
from learning.audit.observations import AuditTarget
from learning.audit.verdicts import Check

__all__ = ["AuditTarget", "Check", "Finding", "audit", "audit_owner", "check_training"]
