"""Frank-Wolfe methods and the combinations of atoms that they move."""
