"""Several attention heads on the single-location model: specialisation dynamics (arXiv 2603.03993)."""
