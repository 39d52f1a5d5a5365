"""Passages for a language model, compared with LlamaIndex, Haystack and txtai: does the answer get into its prompt?

`python -m bench frameworks [--docs FOLDER] [--only NAME]` asks the questions of debian_docs and new_docs that have an
answer. FOLDER has a folder of documents for each; without it, they are downloaded. Each framework is installed from
PyPI into an environment of its own (`MB` and `packages` are those of it alone) and measured in a process of its own.

All read the same texts, one per file, as `shortlist` extracts them, and use the same vectors. LlamaIndex and Haystack
cut the texts with their default splitter; txtai, whose base has none, gets the passages of `shortlist`. Each returns
up to ten passages for a question; those of `shortlist` are what `ask` shows to a language model. Without one, the
frameworks give no answers, so none are compared.

- `first` and `first ten` are the share of questions whose answer is in the first passage, or in one of ten.
- `4,000 characters` is the share whose answer is in the passages' first 4,000 characters together: what fits into a
  prompt of about a thousand tokens, however long the passages are.
- `index CPU s` is the processor time of splitting, encoding and indexing, `query CPU ms` that of a question, and
  `memory MB` the most that the process had in use.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bench import debian_docs, report
from bench.answers import Asked, normalize, own_questions
from bench.install import megabytes

ROOT = Path(__file__).parents[1]
K = 10
BUDGET = 4000

Text = dict[str, Any]  # id, title, content, kind and source of a file
Search = Callable[[str], list[str]]  # the passages for a question, best first

# What each needs from PyPI; nothing for ours, which is installed beside every framework for its vectors.
PACKAGES: dict[str, tuple[str, ...]] = {
    "shortlist": (),
    "LlamaIndex": ("llama-index-core", "llama-index-retrievers-bm25"),
    "Haystack": ("haystack-ai",),
    "txtai": ("txtai",),
}
MODES = ("keywords", "hybrid")


def run(arguments: list[Path]) -> None:
    parser = argparse.ArgumentParser("python -m bench frameworks")
    parser.add_argument("--docs", type=Path, help="Folder with debian_docs and new_docs; downloaded if missing.")
    parser.add_argument("--only", choices=PACKAGES, help="Measure one, and keep the figures of the others.")
    options = parser.parse_args(list(map(str, arguments)))
    figures: dict[str, Any] = {name: {} for name in (*debian_docs.SETS, "installed")}
    if options.only:
        figures = json.loads((report.RESULTS / "frameworks.json").read_text("utf-8"))["figures"]
    with tempfile.TemporaryDirectory() as place:
        for name in debian_docs.SETS:
            folder = (options.docs or Path(place)) / name
            try:
                if not folder.exists():
                    debian_docs.fetch(folder, name)
            except debian_docs.Unavailable as error:
                raise SystemExit(f"{name}: {error}") from None
            Path(place, f"{name}.json").write_text(json.dumps(read_texts(folder)), "utf-8")
        wheel = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", place, str(ROOT)]
        subprocess.run(wheel, check=True)
        own = str(next(Path(place).glob("shortlist-*.whl")))
        for engine in [options.only] if options.only else PACKAGES:
            packages = PACKAGES[engine]
            python, facts = install(Path(place, engine), packages, own)
            figures["installed"][engine] = facts
            for name in debian_docs.SETS:
                for mode in MODES if packages else MODES[-1:]:
                    row = in_own_process(python, engine, mode, name, str(Path(place, f"{name}.json")))
                    figures[name][f"{engine}, {mode}" if packages else engine] = row
                    print(f"{name}, {engine}, {mode}: {row}", flush=True)
    report.save("frameworks", figures)


def read_texts(folder: Path) -> list[Text]:
    from shortlist import CorpusSource, Document

    found = (one for one in CorpusSource.from_files(folder) if isinstance(one, Document))
    return [{name: getattr(one, name) for name in ("id", "title", "content", "kind", "source")} for one in found]


def install(place: Path, packages: Sequence[str], own: str) -> tuple[Path, dict[str, Any]]:
    """The Python of an environment with these packages and ours, and what they alone take."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(place)], check=True)
    python = place / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-compile"]
    subprocess.run([*pip, *(packages or [own])], check=True)
    installed = next(place.glob("lib/python*/site-packages"))
    found = [path.name.removesuffix(".dist-info") for path in installed.glob("*.dist-info")]
    versions = dict(name.rsplit("-", 1) for name in found)
    facts = {"version": versions[(packages or ["shortlist"])[0].replace("-", "_")], "packages": len(found)}
    facts["MB"] = round(megabytes(installed.rglob("*")))
    if packages:  # PyStemmer may become newer than LlamaIndex asks for; both have the same stemmer
        subprocess.run([*pip, own], check=True, stderr=subprocess.DEVNULL)
    return python, facts


def in_own_process(python: Path, *arguments: str) -> dict[str, float]:
    command = [str(python), "-m", "bench.frameworks", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(arguments)}: {done.stderr}")
    return dict(json.loads(done.stdout.splitlines()[-1]))


def measure(engine: str, mode: str, name: str, texts: Sequence[Text]) -> dict[str, float]:
    started = time.process_time()
    passages, search = ENGINES[engine](texts, mode)
    indexed = time.process_time() - started
    asked = [one for one in own_questions(name) if one.gold]
    started = time.process_time()
    found = [search(one.text) for one in asked]
    took = time.process_time() - started
    return {
        **{key: round(share, 3) for key, share in score(asked, found).items()},
        "passages": passages,
        "characters": round(sum(len(text) for one in found for text in one) / max(1, sum(map(len, found)))),
        "index CPU s": round(indexed, 1),
        "query CPU ms": round(1e3 * took / len(asked), 1),
        "memory MB": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }


def score(asked: Sequence[Asked], found: Sequence[Sequence[str]]) -> dict[str, float]:
    """The share of questions whose answer is in the first passage, in the first characters of all, and in any."""
    right = {"first": 0, "4,000 characters": 0, "first ten": 0}
    for one, passages in zip(asked, found, strict=True):
        right["first"] += any(one.is_in(normalize(text)) for text in passages[:1])
        right["4,000 characters"] += any(one.is_in(normalize(text)) for text in cut_to_budget(passages))
        right["first ten"] += any(one.is_in(normalize(text)) for text in passages[:K])
    return {key: number / len(asked) for key, number in right.items()}


def cut_to_budget(passages: Sequence[str], budget: int = BUDGET) -> list[str]:
    """The passages up to a number of characters, the last one cut."""
    kept = []
    for text in passages:
        kept.append(text[:budget])
        budget -= len(text)
        if budget <= 0:
            break
    return kept


def use_shortlist(texts: Sequence[Text], mode: str) -> tuple[int, Search]:
    import shortlist

    corpus = shortlist.build([shortlist.Document(**text) for text in texts], path=Path.cwd() / "corpus")
    silent = shortlist.ScriptedLLM(*["Nothing."] * 1000)  # only what it is shown counts

    def search(question: str) -> list[str]:
        shown: list[str] = []
        shortlist.ask(corpus, question, silent, k=K, on_evidence=lambda one: shown.append(one.text))
        return shown

    return corpus.info()["passages"], search


def use_llama_index(texts: Sequence[Text], mode: str) -> tuple[int, Search]:
    from llama_index.core import Document, VectorStoreIndex
    from llama_index.core.embeddings import BaseEmbedding
    from llama_index.core.llms import MockLLM
    from llama_index.core.node_parser import SentenceSplitter
    from llama_index.core.retrievers import QueryFusionRetriever
    from llama_index.retrievers.bm25 import BM25Retriever

    from shortlist.index.embedders.named import load_embedder

    embedder: Any = load_embedder("default")

    class Static(BaseEmbedding):  # type: ignore[misc]
        def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
            return [vector.tolist() for vector in embedder.encode_documents(texts)]

        def _get_text_embedding(self, text: str) -> list[float]:
            return self._get_text_embeddings([text])[0]

        _get_query_embedding = _get_text_embedding

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return self._get_text_embedding(query)

    nodes = SentenceSplitter().get_nodes_from_documents(
        [Document(id_=text["id"], text=text["content"]) for text in texts]
    )
    retriever: Any = BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=K)
    if mode == "hybrid":
        by_vectors = VectorStoreIndex(nodes, embed_model=Static()).as_retriever(similarity_top_k=K)
        options: dict[str, Any] = {"llm": MockLLM(), "num_queries": 1, "mode": "reciprocal_rerank", "use_async": False}
        retriever = QueryFusionRetriever([retriever, by_vectors], similarity_top_k=K, **options)
    return len(nodes), lambda question: [one.node.get_content() for one in retriever.retrieve(question)]


def use_haystack(texts: Sequence[Text], mode: str) -> tuple[int, Search]:
    from haystack import Document
    from haystack.components.joiners import DocumentJoiner
    from haystack.components.preprocessors import DocumentSplitter
    from haystack.components.retrievers.in_memory import InMemoryBM25Retriever, InMemoryEmbeddingRetriever
    from haystack.document_stores.in_memory import InMemoryDocumentStore

    from shortlist.index.embedders.named import load_embedder

    embedder: Any = load_embedder("default")
    splitter = DocumentSplitter()
    splitter.warm_up()
    parts = splitter.run([Document(id=text["id"], content=text["content"]) for text in texts])["documents"]
    if mode == "hybrid":
        for part, vector in zip(parts, embedder.encode_documents([part.content for part in parts]), strict=True):
            part.embedding = vector.tolist()
    store = InMemoryDocumentStore(embedding_similarity_function="cosine")
    store.write_documents(parts)
    by_words = InMemoryBM25Retriever(store, top_k=K)
    by_vectors = InMemoryEmbeddingRetriever(store, top_k=K)
    joiner = DocumentJoiner(join_mode="reciprocal_rank_fusion", top_k=K)

    def search(question: str) -> list[str]:
        found = by_words.run(query=question)["documents"]
        if mode == "hybrid":
            near = by_vectors.run(query_embedding=embedder.encode_query(question).tolist())["documents"]
            found = joiner.run(documents=[found, near])["documents"]
        return [one.content for one in found]

    return len(parts), search


def use_txtai(texts: Sequence[Text], mode: str) -> tuple[int, Search]:
    from txtai import Embeddings

    from shortlist import Document
    from shortlist.index.embedders.named import load_embedder
    from shortlist.index.text.chunking import split

    embedder: Any = load_embedder("default")
    options: dict[str, Any] = {"keyword": True}
    if mode == "hybrid":
        options = {"hybrid": True, "method": "external", "transform": lambda texts: embedder.encode_documents(texts)}
    index = Embeddings(content=True, **options)
    passages = [piece.text or text["content"] for text in texts for piece in split(Document(**text))]
    index.index(passages)
    return len(passages), lambda question: [str(one["text"]) for one in index.search(question, K)]


ENGINES: dict[str, Callable[[Sequence[Text], str], tuple[int, Search]]] = {
    "shortlist": use_shortlist,
    "LlamaIndex": use_llama_index,
    "Haystack": use_haystack,
    "txtai": use_txtai,
}


if __name__ == "__main__":
    engine, mode, name, file = sys.argv[1:]
    with tempfile.TemporaryDirectory() as place:
        os.environ |= {f"SHORTLIST_{kind}_DIR": place for kind in ("CONFIG", "DATA", "CACHE")}
        contents = json.loads(Path(file).read_text("utf-8"))
        os.chdir(place)
        print(json.dumps(measure(engine, mode, name, contents)))
