"""Which arm next? The kernels of pull rules, one per file."""
