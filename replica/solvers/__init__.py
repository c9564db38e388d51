"""Fixed points of x -> F(x): knows nothing of the theory."""
