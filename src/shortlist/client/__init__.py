"""Clients of a running service, and the rules for the addresses that they send to."""
