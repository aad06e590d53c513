"""A timed trial of a setting: its loop, its workers and what they use."""
