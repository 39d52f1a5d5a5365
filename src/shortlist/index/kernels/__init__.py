"""The compiled loops. A module of them, and numba with it, is loaded when its first attribute is used."""

import lazy_loader  # type: ignore[import-untyped]

__getattr__, __dir__, _ = lazy_loader.attach(__name__, submodules=["ranking_loops", "text_loops", "vector_loops"])
