"""Models: which features an output has, what a mistake costs and how the best output is found."""
