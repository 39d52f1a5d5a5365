"""The commands that check the installation, show the configuration, fetch models, and write and restore backups."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click

import shortlist
from shortlist._environment import MEANINGS, OPENAI_API_KEY, read_variable
from shortlist._paths import config_dir
from shortlist._text import count_of
from shortlist.cli.command import command
from shortlist.cli.lazy_imports import lazy_imports
from shortlist.cli.output import ERROR, OK, Output
from shortlist.cli.shared_options import settings_option

with lazy_imports():
    from shortlist.cli import doctor_checks
    from shortlist.cli.terminal import setup_tables
    from shortlist.compat import retriever_settings
    from shortlist.library import backup as backups
    from shortlist.library import registry
    from shortlist.mcp_client import config_files


@command(examples=["shortlist doctor"])
def doctor(out: Output) -> int:
    """Check the installation, the folders, every corpus, and whether agents start `shortlist mcp`. Show how to fix what
    is broken."""
    checks = doctor_checks.run_checks()
    broken = [check for check in checks if check.state == "broken"]
    rows = [check._asdict() for check in checks]
    brief = [f"{check.name}: {check.fix}" for check in broken]
    out.show({"ok": not broken, "checks": rows}, lambda screen: setup_tables.show_checks(screen, rows), brief)
    return ERROR if broken else OK


@command(examples=["shortlist config show"])
@settings_option
def show(out: Output, settings: str | None) -> None:
    """Show folders, environment variables and settings, each setting with its origin."""
    loaded = retriever_settings.load_compat_settings(settings)
    keys = retriever_settings.KEYS
    meanings = MEANINGS | {name: str(keys.fields[key].description) for name, key in keys.variables.items()}
    secret = {OPENAI_API_KEY, *(name for name, key in keys.variables.items() if key in keys.secrets)}
    values = {name: read_variable(name) or None for name in meanings}
    data: dict[str, Any] = {
        "folders": {name: str(folder) for name, folder in doctor_checks.find_folders().items()},
        "registry": str(registry.registry_file()),
        "mcp_servers": str(config_dir() / config_files.OWN_FILE),
        "variables": {name: "***" if value and name in secret else value for name, value in values.items()},
        "settings": loaded.rows(retriever_settings.RetrieverState(loaded).rows()),
    }
    out.show(data, lambda screen: setup_tables.show_settings(screen, data, meanings), list(data["folders"].values()))
    for sentence in (*loaded.warnings, *retriever_settings.unknown_variables()):
        out.note(f"shortlist: {sentence}")


@command(examples=["shortlist download light", "shortlist download --index-dir .index"])
@click.argument("model", required=False, metavar="[MODEL]")
@click.option("--index-dir", metavar="PATH", help="Index whose model to fetch.")
def download(out: Output, model: str | None, index_dir: str | None) -> None:
    """Fetch a model and try it once. The default is the model of --index-dir, or the default model."""
    began = time.perf_counter()
    if index_dir and not model:
        with shortlist.open_corpus(Path(index_dir).expanduser()) as corpus:
            model = corpus.config.embedder
    loaded = shortlist.load_embedder(model := model or "default")
    name, dim = (loaded.name, len(loaded.encode_query("one text"))) if loaded else ("none", 0)
    seconds = round(time.perf_counter() - began, 2)
    text = f"{name} is ready: {dim} dimensions, tried in {seconds} seconds."
    out.show({"model": model, "name": name, "dim": dim, "seconds": seconds}, text)


@command(examples=["shortlist backup shortlist.backup"])
@click.argument("path", metavar="PATH")
def backup(out: Output, path: str) -> None:
    """Write all corpora, their logs of use, uploaded files and the configuration into a new file, and check it.
    Services may go on. The file has tokens: keep it private."""
    with out.progress("writing the backup"):
        _show(out, backups.back_up(Path(path).expanduser()), "stored")


@command(examples=["shortlist restore shortlist.backup handbook"])
@click.argument("path", metavar="PATH")
@click.argument("names", nargs=-1, metavar="[NAME]...")
def restore(out: Output, path: str, names: tuple[str, ...]) -> None:
    """Restore a backup, or only these corpora of it. Nothing that exists is replaced. Services may go on. Restore only
    what you have stored yourself."""
    with out.progress("restoring the backup"):
        _show(out, backups.restore(Path(path).expanduser(), names), "restored")


def _show(out: Output, report: backups.BackupReport, verb: str) -> None:
    text = f"{report.file}: {count_of(report.files, 'file')}, {report.bytes / 1e6:,.1f} MB {verb}."
    out.show(report.to_dict(), f"{text} Corpora: {', '.join(report.corpora) or 'none'}.", [report.file])
    for name in report.in_clusters:
        out.note(f"shortlist: the documents of {name} are in its cluster. Make a snapshot of that, too.")
