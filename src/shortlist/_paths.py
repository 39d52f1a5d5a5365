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


def describe_os_error(error: OSError) -> str:
    """What is wrong with which file, and which variable names another folder for it."""
    if not isinstance(error.filename, str | bytes):
        return f"{error.strerror or error}."
    path, advice = Path(os.fsdecode(error.filename)), ""
    for name, folder in (("DATA", data_dir()), ("CONFIG", config_dir()), ("CACHE", cache_dir())):
        if path.is_relative_to(folder) or (path.is_absolute() and folder.is_relative_to(path)):
            advice = f" Fix that, or set SHORTLIST_{name}_DIR to another folder."
    return f"{error.strerror}: {path}.{advice}"


def _place(variable: str, function: str) -> Path:
    override = os.environ.get(variable)
    if override:
        return Path(override).expanduser()
    import platformdirs  # noqa: PLC0415  # only when no variable is set

    return Path(getattr(platformdirs, function)(APPLICATION, appauthor=False))
