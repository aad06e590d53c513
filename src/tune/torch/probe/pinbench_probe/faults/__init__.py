"""Why something failed, in the form that pinbench reports."""
