"""Loss functions of (y, f)."""
