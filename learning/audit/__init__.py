"""Audit: attacks on what owners answer, which bound the epsilon they really give from below."""

from learning.audit.auditor import Finding, audit, audit_owner
from learning.audit.observations import AuditTarget

__all__ = ["AuditTarget", "Finding", "audit", "audit_owner"]
