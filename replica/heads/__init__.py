"""Multi-head attention on the single-location model: specialisation dynamics (arXiv 2603.03993, theory-dynamics.md A)."""
