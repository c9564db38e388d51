"""State evolution of the Bayes-optimal estimator: channel averages by data model, and the map they define."""
