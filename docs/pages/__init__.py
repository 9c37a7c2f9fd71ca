"""Pages of docs/results, filled from committed rows: tables between their marks, figures drawn."""
