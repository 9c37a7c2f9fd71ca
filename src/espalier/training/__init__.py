"""One loop for every model; many models at once; checkpoints."""
