"""Equilibria: solvers, orders of activation, stopping rules, certificates, and what kind of game it is."""
