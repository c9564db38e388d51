"""Experiments at finite dimension: data sets, L-BFGS minimisation, risks on fresh data. No theory code is imported."""
