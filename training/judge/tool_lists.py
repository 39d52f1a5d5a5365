"""Lists of tools that a reader of all languages learns from: `python -m training.judge.tool_lists OUT`.

A list is a need, the tools that the embedder finds for it in a catalog of several servers, and the one that serves it,
or none. Needs and servers are those that the embedder was trained on (`training.data`). A tool that does about the same
as the right one is in no list, since it may serve the need, too. A part of the lists lose the right tool, so that the
words of a need do not tell whether something serves it. Needs that are like a measured one are left out, and some
families of servers are only for measuring.
"""

from __future__ import annotations

import argparse
import random
import zlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from bench import answers
from shortlist.eval import load_cases
from shortlist.index.embedders.tools_model import ToolsEmbedder
from shortlist.retrieval.tool_reading import text_of
from training import data
from training.judge.list_tokens import OTHER, UnitList, write_texts

CASES = Path(answers.__file__).with_name("cases")
TOOLS = "tools"  # the source of the lists
SERVERS = 25  # of a catalog
QUERIES, UNSERVED = 3, 6  # needs in English: of a tool, and of a server that it does not serve
FOUND = 8  # tools of a list, at most
OF_OTHERS = 3  # of them from other servers, for a need that its own server does not serve
REMOVED = 0.3  # of the lists lose the right tool
ALIKE = 0.6  # the cosine of two tools from which both may serve a need
FAR = 0.45  # the cosine of a tool of another server from which it may serve a need that its own server does not
HELD_OF = 10  # one family of so many is held

Array = np.ndarray[Any, Any]


@dataclass
class Server:
    family: str
    tools: list[Any]
    needs: list[tuple[str, int, bool]] = field(default_factory=list)  # the tool or -1, and whether it is not English


def read_servers(rng: random.Random) -> Iterator[Server]:
    others = {(row["server"], row["family"]): row["needs"] for row in data.rows(data.OTHER_NEEDS)}
    for row in (row for path in data.NEEDS for row in data.rows(path)):
        names = {tool["name"]: at for at, tool in enumerate(row["tools"])}
        one = Server(row["family"], [data.as_document(tool) for tool in row["tools"]])
        for at, tool in enumerate(row["tools"]):
            asked = tool["queries"]
            one.needs += [(need, at, False) for need in rng.sample(asked, min(QUERIES, len(asked)))]
        one.needs += [(need, -1, False) for need in rng.sample(row["none"], min(UNSERVED, len(row["none"])))]
        for _, name, need, *_ in others.pop((row["server"], row["family"]), ()):
            one.needs.append((need, names[name] if name else -1, True))
        yield one


def make_catalogs(servers: Sequence[Server], rng: random.Random) -> list[list[Server]]:
    """Servers of different families together."""
    catalogs: list[list[Server]] = []
    waiting: dict[bool, list[Server]] = defaultdict(list)
    for one in rng.sample(servers, len(servers)):
        waiting[is_held(one.family)].append(one)
    for own in waiting.values():
        made: list[list[Server]] = [[] for _ in range(-(-len(own) // SERVERS))]
        for one in own:
            free = [other for other in made if len(other) < SERVERS and one.family not in {two.family for two in other}]
            (rng.choice(free) if free else rng.choice(made)).append(one)
        catalogs += made
    return [one for one in catalogs if one]


def is_held(family: str) -> bool:
    return zlib.crc32(family.encode()) % HELD_OF == 0


def list_catalog(
    servers: Sequence[Server], chat: Sequence[tuple[str, bool]], embedder: ToolsEmbedder, rng: random.Random
) -> Iterator[UnitList]:
    tools = [(number, tool) for number, server in enumerate(servers) for tool in server.tools]
    first = np.cumsum([0, *(len(server.tools) for server in servers)])
    owners = np.array([number for number, _ in tools])
    vectors = np.array(embedder.encode_documents([data.as_embedded(tool) for _, tool in tools]))
    needs = [
        (need, number, first[number] + at if at >= 0 else -1, is_other)
        for number, server in enumerate(servers)
        for need, at, is_other in server.needs
    ] + [(need, -1, -1, is_other) for need, is_other in chat]
    asked = np.array(embedder._encode_new([need for need, *_ in needs], query=True))
    cosines, alike = asked @ vectors.T, vectors @ vectors.T
    for (need, owner, right, is_other), own in zip(needs, cosines, strict=True):
        best = [int(at) for at in np.argsort(-own)]
        if right >= 0:
            wrong = [at for at in best if at != right and alike[at, right] < ALIKE][:FOUND]
            is_removed = rng.random() < REMOVED
            places = wrong if is_removed else [right, *wrong[: FOUND - 1]]
        else:
            is_removed = False
            others = [at for at in best if owners[at] != owner and (owner < 0 or own[at] < FAR)]
            of_own = [at for at in best if owners[at] == owner]
            places = [*of_own[: FOUND - OF_OTHERS], *others[: OF_OTHERS if of_own else FOUND]]
        is_none = right < 0 or is_removed
        source = TOOLS + (OTHER if is_other else "") + (", removed" if is_removed else ", without" if is_none else "")
        rows = [text_of(tools[at][1]) for at in places]
        held = is_held(servers[0].family)
        yield UnitList(need, rows, frozenset(() if is_none else (0,)), source, held)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m training.judge.tool_lists", description=__doc__)
    parser.add_argument("out", type=Path)
    given = parser.parse_args()
    rng = random.Random(0)
    measured = [data.words_of(case.query) for path in sorted(CASES.glob("*.jsonl")) for case in _read(path)]
    servers = list(read_servers(rng))
    chat = [(row["text"], row["language"] != "en") for row in data.rows(data.CHAT)]
    chat += [(need, is_other) for one in servers if not one.tools for need, _, is_other in one.needs]
    servers = [one for one in servers if one.tools]
    catalogs = make_catalogs(servers, rng)
    print(f"{len(servers)} servers, {len(catalogs)} catalogs, {len(chat)} requests without a tool", flush=True)
    embedder = ToolsEmbedder()
    lists: list[UnitList] = []
    rng.shuffle(chat)
    for number, own in enumerate(catalogs):
        said = chat[number :: len(catalogs)]
        lists += list_catalog(own, said, embedder, rng)
        print(number, len(lists), flush=True)
    kept = [one for one in lists if not data.is_asked(data.words_of(one.question), measured)]
    write_texts(kept, [], given.out)
    print(f"{len(kept)} of {len(lists)} lists")


def _read(path: Path) -> list[Any]:
    try:
        return load_cases(path)
    except ValueError:
        return []  # skills or dialogues


if __name__ == "__main__":
    main()
