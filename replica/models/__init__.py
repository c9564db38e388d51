"""What is being studied: data, activation, loss. Symbolic and numpy faces, never compiled code."""
