"""What `pinbench explain` measures with the user's torch."""
