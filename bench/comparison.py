"""The comparison page: figures of the stored results beside each other, and where others are better."""

from __future__ import annotations

import json
from typing import Any

from bench.debian_docs import load_cases
from bench.report import RESULTS

SET, SMALL = "ottqa_wiki", "ottqa_wiki:100000"
OURS, TANTIVY, BM25S, MEMORY = "shortlist", "tantivy on disk", "bm25s numba on disk", "bm25s numba in memory"
COLUMNS = ("build s", "p50 ms", "batch q/s", "memory MB", "disk MB", "cold start s", "upsert ms", "ndcg@10")
TOOL_SETS = {"bfcl": "BFCL", "metatool": "MetaTool"}  # the model that was measured was trained without the set
DOCUMENT_SETS = {"scifact": "SciFact", "nfcorpus": "NFCorpus"}

BUDGET = "4,000 characters"
PASSAGE_COLUMNS = ("first", BUDGET, "first ten", "characters", "index CPU s", "query CPU ms", "memory MB")

PAGE = """# Comparison

What shortlist does better than its alternatives, and what they do better. Each section names the versions and the day
of its measurement. `python -m bench page` writes this page from `bench/results/`; [Benchmarks](benchmarks.md) has all
columns and the method. Machines differ, so compare ratios. [Who should not use this](not-for-you.md) says it in
words.

## bm25s and tantivy: keyword search

All passages of ottqa_wiki, one thread, ten hits with ids and texts. {lexical_facts}

{lexical}

- **With 100,000 passages, bm25s answers one query {small:.1f} times as fast** as shortlist, and a batch
  {small_batch:.1f} times; with all passages, a batch takes it {batch:.1f} times as long. Choose it if your texts fit in
  memory, do not change, and need neither ids nor filters. An update rebuilds its index: {rebuild:,.0f} ms against
  {update:.1f} ms for shortlist, measured on fewer passages.
- **tantivy takes {disk:.0%} of the disk space, and its process starts in {cold} s** instead of {our_cold} s. It is
  one package of {tantivy_size:g} MB, and builds the index in {build:.0%} of the time. It needs {queries:.1f} times as
  long for a query, and {upsert:.1f} times as long until a search finds a new document.

Repeat it: `python -m bench lexical FOLDER`, `python -m bench update FOLDER`, `python -m bench install`.

## bm25s: quality

nDCG@10 for queries over tools and documents. {quality_facts}

{quality}

The tool sets are searched with models that were trained without the set, in fewer steps than the one that is shipped;
the document sets with the static vectors. [Our embedder](embedder.md#quality) has more sets.

Repeat it: `python -m bench quality FOLDER`, with the model of [a fold](embedder.md#train-it) for a tool set.

## LanceDB: hybrid search

SciFact, with the same vectors. {hybrid_facts}

{hybrid}

LanceDB is a vector database with approximate indexes, typed columns and storage in the cloud. Choose it for many
millions of vectors, or if you need those. shortlist brings the model that makes the vectors, and compares all of
them.

Repeat it: `python -m bench hybrid FOLDER`.

## FastMCP, mcp-hub and direct connections: tools of MCP servers

{servers} servers with {tools:g} tools behind one entry in the configuration of an agent. {gateway_facts}

{gateway}

- **Direct connections have the fastest calls**: {direct_call:.1f} ms against {our_call:.1f} ms through our gateway.
  They cost {tokens:,.0f} tokens of definitions. If your agent has a few tools, connect it directly.
- **FastMCP's search needs fewer tokens**: {fastmcp_tokens:g} against {our_tokens:,.0f}, with two tools, and without
  `read`, `ask` and approvals. Its search took {fastmcp_search:.0f} ms, ours {our_search:.1f} ms. Quality was not
  compared here: it ranks with BM25. By now the six tools of shortlist need {tokens_now:g}.
- **mcp-hub and FastMCP's proxy list all tools**, so they save connections, not tokens.

Repeat it: `python -m bench gateway FOLDER`.

## LlamaIndex, Haystack and txtai: passages for a language model

Questions about documentation in Debian packages, and whether the passages that a language model would be shown contain
the answer. LlamaIndex {llama_index[version]}, Haystack {haystack[version]}, txtai {txtai[version]}, {frameworks_facts}

All read the same texts and use the same static vectors. Each framework cuts the texts with its default splitter (txtai,
whose base has none, gets our passages), ranks by BM25 alone or together with the vectors, and returns ten passages.
Ours are the passages that `ask` shows to a model. Nothing was fitted to new_docs; one half of the questions of
debian_docs was used in the development of shortlist.

debian_docs, {debian_questions} questions:

{debian}

new_docs, {new_questions} questions:

{new}

- `4,000 characters`: the share of questions whose answer is in the first 4,000 characters of the passages together,
  about a thousand tokens. `first ten`: in any of ten passages, whose mean length in `characters` differs.
- **A prompt of a thousand tokens has the answer more often**: in {ours_debian:.0%} and {ours_new:.0%} of the cases,
  against {best_debian:.0%} and {best_new:.0%} with the best alternative.
- **Ten long passages contain more**: those of LlamaIndex have {long_debian:.0%} of the answers to debian_docs, ours
  {ten_debian:.0%}, in a sixth of the text. If your model reads ten thousand tokens for a question, long passages are
  better.
- **A keyword query of LlamaIndex takes less time**: bm25s ranks in about a millisecond, and `ask` does more than rank.
- **LlamaIndex and Haystack are smaller** than shortlist, whose models are in its package; theirs come on top.
- Not compared: answers. Without a language model the frameworks give none; with one, it decides. Nor larger embedders,
  which all of them can use.

| | version | packages | MB |
|---|--:|--:|--:|
{sizes}

`packages` and `MB` are what `pip install --no-compile` leaves in an empty environment. txtai needs PyTorch, on Linux
with the libraries of CUDA. The frameworks have connectors, pipelines, agents and stores that shortlist does not have.

Repeat it: `python -m bench frameworks`.
"""


def write_comparison() -> str:
    """The text of the page."""
    lexical, quality, hybrid = read("lexical"), read("quality"), read("hybrid")
    left_out = read("quality-languages-model")
    gateway, install, update = read("gateway"), read("install")["figures"], read("update")["figures"]
    rows, small = lexical["figures"][SET], lexical["figures"][SMALL]
    gateways = gateway["figures"]["rows"]
    ours, tantivy, memory = rows[OURS], rows[TANTIVY], rows[MEMORY]
    frameworks = read("frameworks")
    debian, new, installed = (frameworks["figures"][name] for name in ("debian_docs", "new_docs", "installed"))
    sets = TOOL_SETS | DOCUMENT_SETS
    measured = {name: (left_out if name in TOOL_SETS else quality)["figures"][name] for name in sets}
    scores = {
        title: {
            "queries": measured[name]["queries"],
            "bm25s": measured[name]["bm25s"],
            "shortlist, keywords": measured[name]["lexical"],
            "shortlist": measured[name]["auto, tools" if name in TOOL_SETS else "auto"],
        }
        for name, title in sets.items()
    }
    return PAGE.format(
        lexical_facts=describe(lexical, SET, "shortlist", "tantivy", "bm25s"),
        lexical=make_table({name: rows[name] for name in (OURS, TANTIVY, BM25S, MEMORY)}, COLUMNS),
        small=small[OURS]["p50 ms"] / min(small[BM25S]["p50 ms"], small[MEMORY]["p50 ms"]),
        small_batch=max(small[BM25S]["batch q/s"], small[MEMORY]["batch q/s"]) / small[OURS]["batch q/s"],
        batch=ours["batch q/s"] / max(rows[BM25S]["batch q/s"], memory["batch q/s"]),
        rebuild=update["bm25s, rebuild"]["median ms"],
        update=update["shortlist"]["median ms"],
        disk=tantivy["disk MB"] / ours["disk MB"],
        cold=tantivy["cold start s"],
        our_cold=ours["cold start s"],
        queries=tantivy["p50 ms"] / ours["p50 ms"],
        tantivy_size=install["tantivy"]["MB"],
        build=tantivy["build s"] / ours["build s"],
        upsert=tantivy["upsert ms"] / ours["upsert ms"],
        quality_facts=describe(left_out, "bfcl", "shortlist", "bm25s"),
        quality=make_table(scores, ("queries", "bm25s", "shortlist, keywords", "shortlist")),
        hybrid_facts=describe(hybrid, "scifact", "shortlist", "lancedb"),
        hybrid=make_table(hybrid["figures"]["scifact"], ("build s", "p50 ms", "p95 ms", "ndcg@10")),
        servers=len(gateway["figures"]["servers"]) - 1,
        tools=gateways["direct connections"]["tools"],
        gateway_facts=describe(gateway, "", "shortlist", "fastmcp")
        + f" mcp-hub {gateway['figures']['servers']['mcp-hub']}. Preliminary: other programs used the machine.",
        gateway=make_table(gateways, ("tokens", "ready s", "first call s", "call ms", "discover ms")),
        direct_call=gateways["direct connections"]["call ms"],
        tokens=gateways["direct connections"]["tokens"],
        our_call=gateways["shortlist"]["call ms"],
        our_tokens=gateways["shortlist"]["tokens"],
        our_search=gateways["shortlist"]["discover ms"],
        tokens_now=read("context")["figures"]["tokens of our tool definitions"],
        fastmcp_tokens=gateways["FastMCP proxy with BM25 search"]["tokens"],
        fastmcp_search=gateways["FastMCP proxy with BM25 search"]["discover ms"],
        frameworks_facts=describe(frameworks, "", "shortlist"),
        llama_index=installed["LlamaIndex"],
        haystack=installed["Haystack"],
        txtai=installed["txtai"],
        debian_questions=count_answered("debian_docs"),
        new_questions=count_answered("new_docs"),
        debian=make_table(debian, PASSAGE_COLUMNS),
        new=make_table(new, PASSAGE_COLUMNS),
        ours_debian=debian[OURS][BUDGET],
        ours_new=new[OURS][BUDGET],
        best_debian=max(row[BUDGET] for name, row in debian.items() if name != OURS),
        best_new=max(row[BUDGET] for name, row in new.items() if name != OURS),
        long_debian=debian["LlamaIndex, hybrid"]["first ten"],
        ten_debian=debian[OURS]["first ten"],
        sizes="\n".join(
            f"| {name} | {one['version']} | {one['packages']} | {one['MB']:,} |" for name, one in installed.items()
        ),
    )


def count_answered(name: str) -> int:
    """The number of questions of a set that its documents answer."""
    return sum(bool(case.answers) for case in load_cases(name))


def read(name: str) -> dict[str, Any]:
    return dict(json.loads((RESULTS / f"{name}.json").read_text("utf-8")))


def describe(result: dict[str, Any], part: str, *packages: str) -> str:
    """The versions, the machine and the day of a result."""
    versions = ", ".join(f"{name} {result['versions'][name]}" for name in packages if name in result["versions"])
    machine = result["machine"]
    day = result.get("measured", {}).get(part, result["date"]).partition(",")[0]
    return f"{versions}; {machine['architecture']}, {machine['cores']} cores, {day}."


def make_table(rows: dict[str, dict[str, float]], columns: tuple[str, ...]) -> str:
    lines = ["| | " + " | ".join(columns) + " |", "|---|" + "--:|" * len(columns)]
    for name, row in rows.items():
        cells = (
            "" if value is None else f"{value:,.4g}" if value < 1000 else f"{value:,.0f}"
            for value in map(row.get, columns)
        )
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)
