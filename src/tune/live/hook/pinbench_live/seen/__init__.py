"""What may change in the job while its loader runs: what can be reached from its objects, and its open files."""
