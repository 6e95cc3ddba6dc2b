"""Studies: pricing and audits of a whole scenario."""
