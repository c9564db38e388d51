"""Gradient flow of the value-softmax model beta = V softmax(a): why attention polarises (arXiv 2603.06248)."""
