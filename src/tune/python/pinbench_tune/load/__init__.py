"""What the user names: the data set, its order and the training step."""
