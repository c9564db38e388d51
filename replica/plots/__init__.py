"""Figures from tables. matplotlib and pandas (extra `plots`) are imported when a figure is drawn."""
