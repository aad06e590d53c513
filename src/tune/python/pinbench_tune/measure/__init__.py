"""A timed trial of a setting: loop, workers and resource use."""
