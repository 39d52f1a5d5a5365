"""Adapters for agent frameworks, one per module; none is loaded before it is used."""
