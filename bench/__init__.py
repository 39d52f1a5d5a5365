"""Measurements, kept in bench/results. `python -m bench` lists them."""
