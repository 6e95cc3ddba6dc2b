"""Procurement: buying privacy from owners whose costs are private information."""
