"""Tries settings in a training whose results are thrown away."""
