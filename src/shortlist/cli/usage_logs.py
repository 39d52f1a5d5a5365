"""The logs of use that commands name: that of a stored corpus, or those of the gateway.

`mcp` means what ranks the tools here: the log of this project and the one that all projects share for the user's own
servers. The latter alone is named by SHARED, and those of other projects by `mcp:` and the path of the project. The
skills of the gateway have a log of their own, whose name ends with `:skills`.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from shortlist._text import printable
from shortlist.cli.corpora import make_not_found, open_corpus, resolve
from shortlist.cli.output import Output
from shortlist.errors import CorpusNotFound
from shortlist.index.corpus import Corpus
from shortlist.index.corpus_paths import stored_corpora
from shortlist.index.foreign import derived_folder
from shortlist.index.location import find_corpus_file
from shortlist.index.storage.usage_log import FILE, UsageLog
from shortlist.mcp.collection import SKILLS, TOOLS, Collection, StoredCorpora
from shortlist.mcp.gateway.dispatch import Gateway
from shortlist.mcp.gateway.gateway_config import PLACE, GatewayConfig, shared_folder
from shortlist.mcp.usage_routing import open_usage

SHARED = "your MCP servers"
OF_SKILLS = f":{SKILLS}"


def find_logs() -> dict[str, UsageLog]:
    """All logs that exist, by the names of their corpora. The log of `mcp` is that of this project alone."""
    folders = stored_corpora() | {SHARED: shared_folder(), TOOLS: GatewayConfig().home} | _find_gateways()
    return {name: UsageLog(folder / FILE) for name, folder in folders.items() if (folder / FILE).exists()}


def _find_gateways() -> dict[str, Path]:
    """The folders with other logs of the gateway, by the names of these logs."""
    here, found = GatewayConfig().home, dict[str, Path]()
    for home in sorted(here.parent.glob("*/")):
        name = TOOLS if home == here else f"{TOOLS}:{_read_place(home)}"
        found |= {name: home, name + OF_SKILLS: home / SKILLS}
    return {
        name: folder
        for name, folder in found.items()
        if name != TOOLS and folder != shared_folder() and (folder / FILE).exists()
    }


def _read_place(home: Path) -> str:
    """The project or the files that a folder of the gateway is about; the name of the folder if that is not known."""
    with suppress(OSError, ValueError):
        return printable(", ".join((home / PLACE).read_text("utf-8").splitlines())) or home.name
    return home.name


def _find_gateway(name: str) -> Path | None:
    """The folder with a log of the gateway, by its name or by `mcp:` and the name of the folder."""
    found = _find_gateways() | {SHARED: shared_folder()}
    by_folder = {f"{TOOLS}:{folder.name}": folder for folder in found.values() if folder.name != SKILLS}
    return (by_folder | found).get(name)


def find_log(name: str) -> UsageLog:
    """The log of a corpus, which may not exist yet."""
    if name == TOOLS:
        config = GatewayConfig()
        servers = {server.name: server for server in config.read(strict=False).servers}
        return open_usage(config.home / FILE, config.shared, lambda: servers)
    if folder := _find_gateway(name):
        return UsageLog(folder / FILE)
    if name.startswith(f"{TOOLS}:"):
        raise CorpusNotFound(f"There is no log of use named {name!r}. List the logs with: shortlist learned")
    file = find_corpus_file(name := resolve(name))
    if file is None:
        raise make_not_found(name)
    return UsageLog(derived_folder(file.parent) / FILE)


def open_logged(out: Output, name: str) -> tuple[UsageLog, list[Corpus]]:
    """The log of a corpus, and the corpora that it is about."""
    is_here = name in (TOOLS, SHARED, TOOLS + OF_SKILLS)
    if not is_here and name.startswith(f"{TOOLS}:"):  # its servers are configured in another project
        return find_log(name), []
    if not is_here:
        corpus = open_corpus(out, name)
        return corpus.usage, [corpus]
    collection = Collection(Gateway(GatewayConfig()), StoredCorpora())
    return find_log(name), [*collection.corpora(TOOLS), *collection.corpora(SKILLS)]
