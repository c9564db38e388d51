"""Gaussian nodes and their error estimates."""
