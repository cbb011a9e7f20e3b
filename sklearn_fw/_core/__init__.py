"""What several subpackages share: checks, the loop, budgets, results. No public names."""
