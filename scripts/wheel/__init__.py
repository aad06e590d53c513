"""pinbench with the Node that runs it: the programs are `pinbench` and `python -m pinbench`."""
