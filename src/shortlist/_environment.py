"""Environment variables: the names and meanings of those that we read, and the one place that reads them.

A variable that sets a key of settings.yaml is declared with its key in `_settings.py`, where it has the meaning of the
key. The others are declared here, and so are the names that modules below the settings need. This module imports next
to nothing, so that every module can use it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

# Variables that are not settings

CONFIG_DIR = "SHORTLIST_CONFIG_DIR"
DATA_DIR = "SHORTLIST_DATA_DIR"
CACHE_DIR = "SHORTLIST_CACHE_DIR"
DEBUG = "SHORTLIST_DEBUG"
NO_COLOR = "NO_COLOR"
OPENAI_API_KEY = "OPENAI_API_KEY"
OPENAI_BASE_URL = "OPENAI_BASE_URL"
OPENAI_MODEL = "OPENAI_MODEL"

MEANINGS = {
    CONFIG_DIR: "folder of the registry",
    DATA_DIR: "folder of the corpora",
    CACHE_DIR: "folder of files that can be made again",
    DEBUG: "1 shows the traceback of an error",
    NO_COLOR: "any value turns colors off",
    OPENAI_API_KEY: "key of an OpenAI-compatible endpoint",
    OPENAI_BASE_URL: "address of an OpenAI-compatible endpoint, to which the key may be sent",
    OPENAI_MODEL: "model of an OpenAI-compatible endpoint",
}
"""What the user can set; `shortlist config show` lists them with the variables of the settings."""

# Set by a gateway for every server that it runs, so that none of them runs the others again
GATEWAY = "SHORTLIST_GATEWAY"

# Variables of settings that are read without the settings, which take time to import
ENGINE_USER = "SHORTLIST_ENGINE_USER"
ENGINE_PASSWORD = "SHORTLIST_ENGINE_PASSWORD"
ENGINE_CERTIFICATE = "SHORTLIST_ENGINE_CERTIFICATE"
FILE_MEMORY_MB = "SHORTLIST_FILE_MEMORY_MB"
FILE_SECONDS = "SHORTLIST_FILE_SECONDS"
LEARN = "SHORTLIST_LEARN"
MAX_QUERY_CHARACTERS = "SHORTLIST_MAX_QUERY_CHARACTERS"
PROFILE = "SHORTLIST_PROFILE"
TELEMETRY = "SHORTLIST_TELEMETRY"


def read_variable(name: str, environment: Mapping[str, str] | None = None) -> str:
    """The value of a variable without spaces around it; empty if it is not set.

    `environment` replaces the environment of this process.
    """
    return (os.environ if environment is None else environment).get(name, "").strip()


def list_variables(prefix: str) -> list[str]:
    """The names of the variables that are set and start with a prefix, in order."""
    return sorted(name for name in os.environ if name.startswith(prefix))
