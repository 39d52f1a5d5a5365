"""The loops in C, and how Python calls them."""
