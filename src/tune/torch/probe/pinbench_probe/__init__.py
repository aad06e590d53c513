"""Runs the user's Dataset in a DataLoader for pinbench, and reports when its batches arrive."""
