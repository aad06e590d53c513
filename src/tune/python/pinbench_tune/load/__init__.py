"""Loads what the user named: the data set, its order and the training step."""
