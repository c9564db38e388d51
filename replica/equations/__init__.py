"""Symbolic side: the energy, its stationarity, averages and prox as unevaluated nodes. sympy only."""
