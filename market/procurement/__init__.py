"""Procurement: buying privacy from owners whose costs are their own secret."""
