"""The configuration, data and cache directories: XDG, each with a variable that overrides it."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from pathlib import Path

from shortlist._environment import CACHE_DIR, CONFIG_DIR, DATA_DIR, read_variable

APPLICATION = "shortlist"

# Where platformdirs finds the folders of a user on Linux: in a variable, or else in the home directory
_XDG = {
    "data": ("XDG_DATA_HOME", ".local/share"),
    "config": ("XDG_CONFIG_HOME", ".config"),
    "cache": ("XDG_CACHE_HOME", ".cache"),
}

# Windows reads these as a device, also with an extension; it ignores the case, and spaces before the extension.
DEVICE = re.compile(r"(?i)(con|prn|aux|nul|(com|lpt)[\d¹²³]|con(in|out)\$) *(\..*)?")
UNSAFE_LETTER = re.compile(r'[<>:"|?*\x00-\x1f\x7f]')  # not allowed in a file name on every system


def data_dir() -> Path:
    return _place(DATA_DIR, "data")


def config_dir() -> Path:
    return _place(CONFIG_DIR, "config")


def cache_dir() -> Path:
    return _place(CACHE_DIR, "cache")


def make_folder(folder: Path) -> None:
    """Create a folder with its parents; one of the three directories above it is closed to other users.

    An existing directory that a variable names stays as it is: it may be shared on purpose.
    """
    for variable, top in _DIRECTORIES:
        if folder.is_relative_to(place := top()):
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not read_variable(variable) and sys.platform != "win32" and place.stat().st_mode & 0o077:
                with contextlib.suppress(PermissionError):  # it belongs to someone else
                    place.chmod(0o700)
    folder.mkdir(parents=True, exist_ok=True)


def is_safe_name(name: str) -> bool:
    """Whether every system creates a file with this name where it is asked to, and with this very name."""
    is_special = "/" in name or "\\" in name or name.endswith((".", " ")) or DEVICE.fullmatch(name)
    return bool(name) and not is_special and not UNSAFE_LETTER.search(name)


def describe_os_error(error: OSError) -> str:
    """What is wrong with which file, and which variable names another folder for it."""
    if not isinstance(error.filename, str | bytes):
        return f"{error.strerror or error}."
    path, advice = Path(os.fsdecode(error.filename)), ""
    for variable, place in _DIRECTORIES:
        if path.is_relative_to(folder := place()) or (path.is_absolute() and folder.is_relative_to(path)):
            advice = f" Fix that, or set {variable} to another folder."
    return f"{error.strerror}: {path}.{advice}"


def user_config_folder() -> Path:
    """Where programs have their configuration of the user; on Windows the one that roams."""
    if folder := _find_xdg_folder("config"):
        return folder
    import platformdirs  # noqa: PLC0415

    return platformdirs.user_config_path(roaming=True)


def _place(variable: str, kind: str) -> Path:
    if override := read_variable(variable):
        return Path(override).expanduser()
    if folder := _find_xdg_folder(kind):
        return folder / APPLICATION
    import platformdirs  # noqa: PLC0415

    return Path(getattr(platformdirs, f"user_{kind}_dir")(APPLICATION, appauthor=False))


def _find_xdg_folder(kind: str) -> Path | None:
    """The folder on Linux, without platformdirs, which takes 17 ms to import; None if it is not that simple."""
    variable, usual = _XDG[kind]
    places = os.environ.get(variable, ""), os.path.join(os.environ.get("HOME", ""), usual)
    return next((Path(place) for place in places if sys.platform == "linux" and os.path.isabs(place)), None)


_DIRECTORIES = ((DATA_DIR, data_dir), (CONFIG_DIR, config_dir), (CACHE_DIR, cache_dir))
