"""Which comparison is closest? The kernels of lingape.contests, one per file."""
