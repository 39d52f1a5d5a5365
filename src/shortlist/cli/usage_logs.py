"""The logs of use that commands name: that of a stored corpus, or as `mcp` that of the gateway for tools and skills.

The gateway has a log in each project; those of other projects than this one are named `mcp:` and their folder.
"""

from __future__ import annotations

from pathlib import Path

from shortlist.cli.corpora import make_not_found, open_corpus
from shortlist.cli.output import Output
from shortlist.index.corpus import Corpus
from shortlist.index.corpus_paths import stored_corpora
from shortlist.index.foreign import derived_folder
from shortlist.index.location import find_corpus_file
from shortlist.index.storage.usage_log import FILE, UsageLog
from shortlist.mcp.collection import SKILLS, TOOLS, Collection, StoredCorpora
from shortlist.mcp.gateway.dispatch import Gateway
from shortlist.mcp.gateway.gateway_config import GatewayConfig


def find_logs() -> dict[str, UsageLog]:
    """All logs that exist, by the names of their corpora."""
    folders = stored_corpora() | {TOOLS: GatewayConfig().home} | _find_other_gateways()
    return {name: UsageLog(folder / FILE) for name, folder in folders.items() if (folder / FILE).exists()}


def _find_other_gateways() -> dict[str, Path]:
    """The folders of the gateway in other projects that have a log, by the names of these logs."""
    home = GatewayConfig().home
    return {
        f"{TOOLS}:{file.parent.name}": file.parent
        for file in sorted(home.parent.glob(f"*/{FILE}"))
        if file.parent != home
    }


def find_log(name: str) -> UsageLog:
    """The log of a corpus, which may not exist yet."""
    if name == TOOLS:
        return UsageLog(GatewayConfig().home / FILE)
    if folder := _find_other_gateways().get(name):
        return UsageLog(folder / FILE)
    file = find_corpus_file(name)
    if file is None:
        raise make_not_found(name)
    return UsageLog(derived_folder(file.parent) / FILE)


def open_logged(out: Output, name: str) -> tuple[UsageLog, list[Corpus]]:
    """The log of a corpus, and the corpora that it is about."""
    if name in _find_other_gateways():  # its servers are configured in another project
        return find_log(name), []
    if name != TOOLS:
        corpus = open_corpus(out, name)
        return corpus.usage, [corpus]
    collection = Collection(Gateway(GatewayConfig()), StoredCorpora())
    return find_log(name), [*collection.corpora(TOOLS), *collection.corpora(SKILLS)]
