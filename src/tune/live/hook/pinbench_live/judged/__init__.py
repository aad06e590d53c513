"""Whether the job gets from a tried setting what it gets from its own."""
