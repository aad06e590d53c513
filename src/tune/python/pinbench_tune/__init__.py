"""pinbench tune in the user's own Python: inspects, loads and measures a data set, and tries settings in a training."""
