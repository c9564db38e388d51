"""Hand-written numba leaves, compiled as part of generated modules."""
