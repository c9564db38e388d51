"""From a problem to solutions: branches, error bars, stability."""
