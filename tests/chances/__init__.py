"""Chances that buying pays, held against how often it paid: a Monte Carlo study of many markets."""
