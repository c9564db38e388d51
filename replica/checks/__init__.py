"""Theory against experiment: tables that tests assert on and notebooks plot."""
