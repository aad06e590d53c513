"""pinbench tune in the user's Python: inspects, loads and measures a data set, and tries settings in a training."""
