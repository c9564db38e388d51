"""Sweeps over grids of problems: planning, continuation along alpha, a journal that survives, workers, tables."""
