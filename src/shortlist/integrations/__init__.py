"""Adapters for agent frameworks, one per module; each is loaded on first use."""
