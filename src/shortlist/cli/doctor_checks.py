"""The checks of `shortlist doctor`: the installation, folders, settings, servers, skills, agents and corpora."""

from __future__ import annotations

import os
import platform
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, metadata, requires, version
from pathlib import Path
from typing import NamedTuple

from packaging.requirements import Requirement

import shortlist
from shortlist._environment import GATEWAY
from shortlist._paths import cache_dir, config_dir, data_dir
from shortlist._text import count_of, printable
from shortlist.cli.corpora import removal_command
from shortlist.compat.retriever_settings import load_compat_settings, unknown_variables
from shortlist.documents import Document, Problem
from shortlist.errors import EmbedderError, ShortlistError, install_line
from shortlist.index.corpus_paths import stored_corpora
from shortlist.index.embedders import models
from shortlist.index.kernels import library
from shortlist.index.text.languages import ENGLISH, describe_languages
from shortlist.install.agent_check import check_agents
from shortlist.install.agents import Places
from shortlist.library import registry
from shortlist.mcp.gateway.dispatch import Gateway
from shortlist.mcp.gateway.gateway_config import GatewayConfig
from shortlist.mcp_client.config_files import review_command
from shortlist.sources.skills import find_pending, read_skills

LITTLE_SPACE = 1 << 30
MOST_MISSING = 3  # packages of an extra that are named


class Check(NamedTuple):
    """The result of one check, and how to fix what is broken."""

    name: str
    state: str  # ok, note or broken
    says: str
    fix: str = ""


def run_checks() -> list[Check]:
    """The results of all checks. A check that cannot run is itself broken."""
    checks: list[Check] = []
    for name, check, fix in CHECKS:
        try:
            checks += check()
        except ShortlistError as error:
            checks.append(Check(name, "broken", str(error), fix))
    return checks


def _check_installation() -> Iterator[Check]:
    yield Check("shortlist", "ok", f"{shortlist.__version__}, Python {platform.python_version()}, {platform.machine()}")
    yield Check("numpy", "ok", version("numpy"))
    yield Check("SQLite", "ok", sqlite3.sqlite_version)
    try:
        yield Check("compiled loops", "ok", f"level {library.loops().cpu_level()} of this processor")
    except ShortlistError as error:
        yield Check("compiled loops", "broken", str(error), library.FIX)
    if models.can_run_models():
        yield Check("onnxruntime", "ok", version("onnxruntime"))
    else:
        says = "cannot be imported: tools are ranked by the static table, and answers are checked by rules"
        yield Check("onnxruntime", "note", says, "pip install onnxruntime")
    wanted = [Requirement(text) for text in requires("shortlist") or ()]
    for extra in sorted({*(metadata("shortlist").get_all("Provides-Extra") or ())} - {"all"}):
        packages = [each for each in wanted if each.marker and each.marker.evaluate({"extra": extra})]
        if missing := [f"{each.name}{each.specifier}" for each in packages if not _is_installed(each)]:
            more = f" and {len(missing) - MOST_MISSING} more" if len(missing) > MOST_MISSING else ""
            says = f"missing: {', '.join(missing[:MOST_MISSING])}{more}"
            yield Check(extra, "note", says, install_line(extra))
        elif packages:
            yield Check(extra, "ok", "installed")


def _is_installed(package: Requirement) -> bool:
    try:
        return package.specifier.contains(version(package.name), prereleases=True)
    except PackageNotFoundError:
        return False


def _check_folders() -> Iterator[Check]:
    for name, folder in find_folders().items():
        nearest = next(place for place in (folder, *folder.parents) if place.exists())
        state, says, fix = "ok", str(folder), ""
        if not nearest.is_dir() or not os.access(nearest, os.W_OK):
            fix = f"Make {nearest} writable, or set SHORTLIST_{name.upper()}_DIR to a folder that is."
            state, says = "broken", f"{folder} cannot be written"
        elif shutil.disk_usage(nearest).free < LITTLE_SPACE:
            state, says, fix = "note", f"{folder}: less than 1 GB is free", "Free some space before you build."
        yield Check(f"{name} folder", state, says, fix)


def _check_settings() -> Iterator[Check]:
    loaded = load_compat_settings()
    sentences = (*loaded.warnings, *unknown_variables())
    notes = [Check("settings", "note", sentence) for sentence in sentences]
    yield from notes or [Check("settings", "ok", str(loaded.file or "defaults"))]


def _check_embedder() -> Iterator[Check]:
    model = shortlist.load_embedder("default")
    yield Check("default embedder", "ok", model.name if model else "none")


def _check_registry() -> Iterator[Check]:
    yield Check("registry", "ok", f"{count_of(len(registry.registered()), 'name')} in {registry.registry_file()}")


def _check_servers() -> Iterator[Check]:
    """The configuration of the gateway and what is pending approval; no server is started."""
    gateway = Gateway(GatewayConfig())
    for pending in gateway.pending_files:
        says = f"{count_of(pending.servers, 'server', 'is pending approval')} in {pending.id}"
        yield Check("project servers", "note", says, f"Review with: {review_command(pending.id)}")
    if tools := gateway.catalog.list_pending():
        says = count_of(len(tools), "tool", "is pending approval")
        yield Check("MCP tools", "note", says, "Review with: shortlist mcp approve")
    fix = "Fix the configuration; shortlist mcp status shows the result."
    yield from (Check("MCP servers", "note", problem.reason, fix) for problem in gateway.problems)
    again = "Fix it, then run: shortlist mcp status --refresh"
    yield from (
        Check("MCP servers", "broken", printable(why), again) for why in gateway.catalog.read_failures().values()
    )
    servers = len(gateway.catalog.servers)
    yield Check("MCP servers", "ok", f"{servers} configured, {count_of(len(gateway.catalog.list_offered()), 'tool')}")


def _check_skills() -> Iterator[Check]:
    """The skills of project and user that are skipped, or not served to agents."""
    found = list(read_skills(()))
    for item in (item for item in found if isinstance(item, Problem)):
        yield Check("skills", "note", f"{printable(item.source)} was skipped. {printable(item.reason)}")
    for item in find_pending(found):
        yield Check("skills", "note", item.reason)
    yield Check("skills", "ok", count_of(sum(isinstance(item, Document) for item in found), "skill"))


def _check_agents() -> Iterator[Check]:
    """The entries of agents that start our MCP server; it starts no other server meanwhile."""
    yield from (Check(*finding) for finding in check_agents(Places(), {GATEWAY: "1"}))


def _check_corpora() -> Iterator[Check]:
    for name, folder in stored_corpora().items():
        try:
            with shortlist.open_corpus(folder) as corpus:
                info = corpus.info()
                shortlist.search(corpus, "one text", k=1)
            says = f"{count_of(info['documents'], 'document')}, embedder {info['embedder']}"
            if any(code != ENGLISH for code in info["languages"]):
                says += f", languages: {describe_languages(info['languages'])}"
            yield Check(name, "note" if info["advice"] else "ok", says, info["advice"])
        except EmbedderError as error:
            yield Check(name, "note", f"{count_of(info['documents'], 'document')}, keyword search only", str(error))
        except (ShortlistError, OSError) as error:
            fix = f"Restore it from a backup; or {removal_command(name)}, then build it again from its source."
            yield Check(name, "broken", str(error), fix)


def find_folders() -> dict[str, Path]:
    """The folders that the package writes to, by what they are for."""
    return {"config": config_dir(), "data": data_dir(), "cache": cache_dir()}


CHECKS: tuple[tuple[str, Callable[[], Iterator[Check]], str], ...] = (
    ("shortlist", _check_installation, ""),
    ("folders", _check_folders, ""),
    ("settings", _check_settings, "Correct the value, or remove it to use the default."),
    ("default embedder", _check_embedder, "Install it, or build with --embedder light."),
    ("registry", _check_registry, "Fix the file by hand, or move it away and register again."),
    ("MCP servers", _check_servers, "Fix the configuration."),
    ("skills", _check_skills, ""),
    ("agents", _check_agents, ""),
    ("corpora", _check_corpora, ""),
)
