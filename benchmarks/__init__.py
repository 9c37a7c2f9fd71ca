"""Measurements: each prints a table and writes JSON. Timings are never asserted in tests."""
