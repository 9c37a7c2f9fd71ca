"""The verbs of the command line, by subject; `espalier.cli` mounts them."""
