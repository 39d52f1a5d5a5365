"""What people see of work and results in a terminal and in a notebook: progress bars and tables."""
