"""The compiled loops, and nothing else. Imported only when there is enough work to repay loading numba."""

from shortlist.index.kernels import ranking_loops as ranking_loops
from shortlist.index.kernels import text_loops as text_loops
from shortlist.index.kernels import vector_loops as vector_loops
