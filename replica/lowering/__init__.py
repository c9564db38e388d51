"""From sympy expressions to compiled modules in the user's cache."""
