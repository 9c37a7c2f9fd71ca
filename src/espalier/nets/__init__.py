"""Torch modules that know nothing of programs."""
