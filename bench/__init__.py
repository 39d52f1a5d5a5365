"""Benchmarks; results are stored in bench/results. `python -m bench` lists them."""
