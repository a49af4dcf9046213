"""How wrong can the estimate be? The kernels of lingape.bounds, one per file."""
