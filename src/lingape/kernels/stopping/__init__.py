"""Is the question answered? The kernels of lingape.stopping, one per file."""
