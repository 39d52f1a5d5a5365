"""The configuration, data and cache directories: XDG, each with a variable that overrides it."""

from __future__ import annotations

import os
from pathlib import Path

APPLICATION = "shortlist"


def data_dir() -> Path:
    return _place("SHORTLIST_DATA_DIR", "user_data_dir")


def config_dir() -> Path:
    return _place("SHORTLIST_CONFIG_DIR", "user_config_dir")


def cache_dir() -> Path:
    return _place("SHORTLIST_CACHE_DIR", "user_cache_dir")


def _place(variable: str, function: str) -> Path:
    override = os.environ.get(variable)
    if override:
        return Path(override).expanduser()
    import platformdirs  # noqa: PLC0415  # only when no variable is set

    return Path(getattr(platformdirs, function)(APPLICATION, appauthor=False))
