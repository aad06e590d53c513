"""Why something failed, as pinbench is told it."""
