"""Runs the user's Dataset in a DataLoader as pinbench asks for, and tells when its batches arrive."""
