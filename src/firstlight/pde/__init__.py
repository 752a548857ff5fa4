"""Differential equations: dynamics, subspaces and local solvers that are learned and checked."""
