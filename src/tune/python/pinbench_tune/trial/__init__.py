"""Tries settings in a training that is thrown away afterwards."""
