"""Loads the compiled loops, in the variant that suits the processor. `hatch_build.py` compiles them."""

from __future__ import annotations

import ctypes
import sys
import zlib
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shortlist.errors import ShortlistError

FOLDER = Path(__file__).parent
COMPILED = "compiled"

FIX = "In a checkout run: python hatch_build.py. Otherwise install shortlist again; pip fetches or compiles them."

# The parameters of each function, and its result at the end: a pointer, an integer, a float, a byte or nothing.
_TYPES = {"p": ctypes.c_void_p, "i": ctypes.c_int64, "d": ctypes.c_double, "b": ctypes.c_uint8, "-": None}
_FUNCTIONS = {
    "room_bytes": "ii", "clear_room": "pi-", "release": "p-", "quantize": "pdp-", "tabulate": "pppipppi-",
    "find_terms": "pipipp-", "find_terms_of_all": "pippipp-", "find_names": "pipppipipii", "score_all": "pippip-",
    "look_at": "pipppipi-", "fill_name_filter": "piip-", "add_squares": "ppp-", "rank": "ppipppiiippipi",
    "rank_all": "ppippppiiippippp-", "join_results": "ppip-",
    "hash_spans": "pppip-", "rehash": "pipi-", "scan": "pppippippipppb",
    "split_words": "pppiipppp-", "gather": "pppipb-", "hash_names": "ppipppppip-", "find_silent_texts": "ppipppi",
    "count_terms": "pipi", "count_postings": "ppppippiippppi", "merge_postings": "pippppppppp-",
    "round_vectors": "piipp-", "multiply_all": "piipp-", "nearest": "pppiipippdpppppi",
    "take_signs": "piipp-", "find_peaks": "ppiiippp-",
    "make_table": "pipb", "matcher_bytes": "ii", "prepare_matcher": "pp-", "encode_many": "ppipp-",
    "decode_many": "ppippii", "guard_mapping": "pii", "release_mapping": "i-", "count_faults": "i",
}  # fmt: skip


@cache
def loops() -> Any:
    """The functions of the C files in this folder."""
    try:
        library = _load(0)
        with suppress(OSError):  # an old compiler made only the plain variant
            library = _load(library.cpu_level())
    except OSError as error:
        raise ShortlistError(f"The compiled loops of shortlist cannot be loaded: {error}. {FIX}") from error
    if _is_outdated(library):
        raise ShortlistError(f"The compiled loops in {FOLDER / COMPILED} are outdated. {FIX}")
    for name, types in _FUNCTIONS.items():
        function = getattr(library, name)
        function.argtypes = [_TYPES[letter] for letter in types[:-1]]
        function.restype = _TYPES[types[-1]]
    return library


def _load(level: int) -> ctypes.CDLL:
    return ctypes.CDLL(str(FOLDER / COMPILED / f"loops-{level}{'.dll' if sys.platform == 'win32' else '.so'}"))


def _is_outdated(library: ctypes.CDLL) -> bool:
    """Whether the library was compiled from other sources than those beside it; a wheel has none."""
    sources = sorted(FOLDER.glob("*.[ch]"))
    if not sources:
        return False
    library.compiled_from.restype = ctypes.c_uint32
    return int(library.compiled_from()) != zlib.crc32(b"".join(path.read_bytes() for path in sources))


def at(array: NDArray[Any], kind: type[np.generic]) -> int:
    """The address of an array, which must be contiguous and of this type; the caller keeps the array meanwhile."""
    if array.dtype != kind or not array.flags.c_contiguous:
        raise TypeError(f"a contiguous array of {kind.__name__} is needed, not of {array.dtype}")
    return int(array.__array_interface__["data"][0])
