"""Equilibria of two-player zero-sum games without tuning, each with an exact gap."""
