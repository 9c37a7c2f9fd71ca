"""What the command line can do: thin functions that call the library and show what it returns."""
