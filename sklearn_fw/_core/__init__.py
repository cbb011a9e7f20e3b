"""What several subpackages share: validation, the loop, budgets, results. No public names."""
