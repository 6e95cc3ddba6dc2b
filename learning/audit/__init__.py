"""Audit: attacks on what owners answer, and checks of the training that they answer in, against what is claimed."""

from learning.audit.auditor import Finding, audit, audit_owner
from learning.audit.bugs import BUGS
from learning.audit.checks import check_training
from learning.audit.observations import AuditTarget
from learning.audit.planted import Caught, planted
from learning.audit.verdicts import Check

__all__ = ["BUGS", "AuditTarget", "Caught", "Check", "Finding", "audit", "audit_owner", "check_training", "planted"]
