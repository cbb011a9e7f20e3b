"""What kernels of all kinds use: rows, losses, proximal operators, random orders, atomics."""
