"""A loader of a tried setting within the job, and how its workers may end."""
