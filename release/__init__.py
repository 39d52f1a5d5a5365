"""Builds what is published, and tries it as users install it."""
