"""The compiled loops, and nothing else. Imported only when there is enough work to repay loading numba."""

from shortlist.index.kernel import ranking as ranking
from shortlist.index.kernel import texts as texts
from shortlist.index.kernel import vectors as vectors
