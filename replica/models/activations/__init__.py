"""Attention activations: one scalar expression phi and a way to combine tokens, one file each."""
