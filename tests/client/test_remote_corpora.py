"""A corpus behind a service is searched, asked and changed as a local one, and merged with local ones."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route

import shortlist
from shortlist import Corpus, CorpusError, CorpusNotFound, Discovery, Document, Hits, InputError, ServiceError
from shortlist.cli import run
from shortlist.index.corpus import RemoteCorpus
from shortlist.library.opening import open_named
from shortlist.server.application import create_app
from shortlist.server.service_settings import load_settings
from tests.client.conftest import serve

QUERIES = ["money back", "how to refund a payment", "track my parcel", "laptops", "days", "zzz", "the of", "", "a moon"]
MODES = ["auto", "lexical", "hybrid"]


def rename(result: Any, url: str, name: str) -> Any:
    """The result with the name of the local corpus in place of the address."""
    text = json.dumps(result.to_dict()).replace(f"{url}/{name}", name)
    return json.loads(text)


@pytest.mark.parametrize("mode", [*MODES, "dense"])
@pytest.mark.parametrize("query", QUERIES)
def test_one_remote_corpus_gives_what_it_gives_locally(url: str, query: str, mode: Any) -> None:
    hits = shortlist.search(f"{url}/handbook", query, mode, k=3)
    assert rename(hits, url, "handbook") == shortlist.search("handbook", query, mode, k=3).to_dict()
    found = shortlist.discover(f"{url}/handbook", query, mode, level="body")
    own = shortlist.discover("handbook", query, mode, level="body")
    assert rename(found, url, "handbook") == own.to_dict()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize(
    ("local", "remote"), [("tools", "handbook"), ("handbook", "tools"), ("faq", "handbook")]
)  # without and with vectors, and with the same embedder
def test_remote_and_local_corpora_are_merged_as_if_all_were_local(
    url: str, local: str, remote: str, query: str, mode: Any
) -> None:
    if mode == "hybrid" and "tools" in (local, remote):
        with pytest.raises(InputError, match="has no vectors"):
            shortlist.search((local, f"{url}/{remote}"), query, mode, k=3)
        return
    hits = shortlist.search((local, f"{url}/{remote}"), query, mode, k=3)
    assert rename(hits, url, remote) == shortlist.search((local, remote), query, mode, k=3).to_dict()
    found = shortlist.discover((f"{url}/{remote}", local), query, mode)
    assert rename(found, url, remote) == shortlist.discover((remote, local), query, mode).to_dict()


def test_a_calibrated_threshold_of_the_service_counts(url: str) -> None:
    with shortlist.create_corpus("strict", embedder="default") as corpus:
        corpus.add([Document("a", "Refunds", "Customers get their money back.")])
        corpus.set_threshold("auto", 0.99)
    found = shortlist.discover(("tools", f"{url}/strict"), "do customers get money")
    assert rename(found, url, "strict") == shortlist.discover(("tools", "strict"), "do customers get money").to_dict()
    assert "0.99" in found.signals["left_out"][f"{url}/strict"]


@pytest.mark.parametrize(
    "filter",
    [
        {"area": "pay"},
        {"area": {"$in": ["pay", "people"]}, "title": {"$ne": "Refunds"}},
        {"$or": [{"area": "pay"}, {"$not": {"area": {"$exists": True}}}]},
        {"kind": "tool"},
    ],
)
def test_filters_apply_on_both_sides(url: str, filter: dict[str, Any]) -> None:
    hits = shortlist.search(("tools", f"{url}/handbook"), "money days laptop", filter=filter)
    assert (
        rename(hits, url, "handbook")
        == shortlist.search(("tools", "handbook"), "money days laptop", filter=filter).to_dict()
    )
    with pytest.raises(InputError, match=r"\$near"):
        shortlist.search(f"{url}/handbook", "money", filter={"area": {"$near": 1}})


def test_search_many_reads_remote_corpora(url: str) -> None:
    found = shortlist.search_many(("tools", f"{url}/handbook"), ["money", "parcel"])
    assert [rename(hits, url, "handbook") for hits in found] == [
        hits.to_dict() for hits in shortlist.search_many(("tools", "handbook"), ["money", "parcel"])
    ]


def test_a_reranker_of_the_caller_sees_remote_hits(url: str) -> None:
    def reverse(query: str, hits: list[shortlist.Hit]) -> list[shortlist.Hit]:
        return [replace(hit, score=float(at)) for at, hit in zip(range(len(hits), 0, -1), reversed(hits), strict=True)]

    hits = shortlist.search(f"{url}/handbook", "money", rerank=reverse)
    assert rename(hits, url, "handbook") == shortlist.search("handbook", "money", rerank=reverse).to_dict()


def test_selected_tools_have_their_required_arguments(url: str) -> None:
    (flight,) = shortlist.discover(f"{url}/tools", "book a flight").results
    assert flight.needs == ("date",)


def test_the_body_of_a_remote_document_comes_from_the_service_alone(url: str, tmp_path: Path) -> None:
    """A path in the metadata of a remote document is never followed on the machine of the caller."""
    (tmp_path / "secret.txt").write_text("SECRET", "utf-8")
    with shortlist.create_corpus("pointing", embedder="none") as corpus:
        path = str(tmp_path / "secret.txt")
        corpus.add([Document("a", "Plan", "the plan", metadata={"skill_path": path, "path": path})])
    (local,) = shortlist.discover("pointing", "plan", "lexical", level="body", roots=[tmp_path]).results
    (found,) = shortlist.discover(f"{url}/pointing", "plan", "lexical", level="body", roots=[tmp_path]).results
    assert (local.body, found.body) == ("SECRET", "the plan")
    assert "was not followed" in found.note


def test_it_has_the_methods_of_a_corpus_that_a_service_offers(url: str) -> None:
    shortlist.create_corpus("offers", embedder="none").close()
    with shortlist.open_corpus(f"{url}/offers") as corpus, shortlist.open_corpus("offers") as own:
        assert isinstance(corpus, Corpus)
        documents = [Document(f"d{at}", f"Title {at}", f"text {at}", kind="tool") for at in range(3)]
        assert corpus.add(documents) == shortlist.Changes(added=3)
        assert (len(corpus), corpus.ids(), list(corpus)) == (3, ["d0", "d1", "d2"], documents)
        assert ("d1" in corpus, corpus.get("d1"), corpus.get("no")) == (True, documents[1], None)
        assert corpus.browse("text", 1, 1) == own.browse("text", 1, 1)
        assert corpus.remove(["d0", "no"]) == 1
        assert corpus.kinds() == own.kinds() == {"tool": 2}
        assert corpus.info() == own.info() | {"name": f"{url}/offers", "path": None}
        assert corpus.learn("the second", "d1") is True
        assert own.usage.facts()["searches"] == 1


@pytest.mark.parametrize(
    "act",
    [
        lambda corpus: corpus.sync([]),
        lambda corpus: corpus.reindex(),
        lambda corpus: corpus.compact(),
        lambda corpus: corpus.set_threshold("auto", 0.5),
        lambda corpus: corpus.usage.facts(),
        lambda corpus: shortlist.agent_ask(corpus, "What?", shortlist.ScriptedLLM(["x"])),
    ],
)
def test_what_a_service_does_not_offer_is_an_error_that_says_so(url: str, act: Any) -> None:
    with shortlist.open_corpus(f"{url}/handbook") as corpus, pytest.raises(CorpusError, match="does not offer"):
        act(corpus)


def test_questions_are_answered_by_the_service(url: str) -> None:
    question, texts = "How many days of vacation do employees have?", list[str]()
    answer = shortlist.ask(f"{url}/handbook", question, on_text=texts.append)
    assert answer == shortlist.ask("handbook", question)
    assert "30 days" in "".join(texts)
    chat = shortlist.Chat(f"{url}/handbook")
    assert chat.ask(question).text == answer.text
    with pytest.raises(InputError, match="asked alone"):
        shortlist.ask((f"{url}/handbook", "tools"), question)
    with pytest.raises(InputError, match=r"own model.*llm"):
        shortlist.ask(f"{url}/handbook", question, shortlist.ScriptedLLM(["x"]))


def test_the_command_line_takes_addresses(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["search", f"{url}/handbook", "money back", "--json"]) == 0
    assert Hits.from_dict(json.loads(capsys.readouterr().out)) == shortlist.search(f"{url}/handbook", "money back")
    assert run(["discover", f"tools,{url}/handbook", "money back", "--json"]) == 0
    found = Discovery.from_dict(json.loads(capsys.readouterr().out))
    assert found.results == shortlist.discover(("tools", f"{url}/handbook"), "money back").results
    assert run(["read", f"{url}/handbook", "laptops"]) == 0
    assert "LAPTOP GUIDE" in capsys.readouterr().out
    assert run(["query", "How many days of vacation?", "--corpus", f"{url}/handbook", "--json"]) == 0
    assert "30 days" in json.loads(capsys.readouterr().out)["text"]


def test_a_service_may_have_a_path_and_a_name_slashes(places: Path, notes: str) -> None:
    catalog = places / "prefixed.json"
    catalog.write_text('{"documents": []}', "utf-8")
    values = {"documents.source": str(catalog), "documents.auto_reload": False, "documents.embedder": "none"}
    service = create_app(load_settings(given=values, environment={}))
    site = Starlette(
        routes=[Mount("/find/it", service), Route("/{path:path}", lambda request: PlainTextResponse("A site."))],
        lifespan=service.router.lifespan_context,
    )
    with serve(places, site) as url:
        with shortlist.open_corpus(f"{url}/find/it/handbook") as corpus:
            assert len(corpus) == 4
        hits = shortlist.search(f"{url}/find/it/{notes}", "office")
        assert rename(hits, f"{url}/find/it", notes) == shortlist.search(notes, "office").to_dict()
        with pytest.raises(CorpusNotFound, match=r"'it/handbok'|'handbok'"):
            shortlist.open_corpus(f"{url}/find/it/handbok")
        with pytest.raises(ServiceError, match="not a shortlist service"):
            shortlist.open_corpus(f"{url}/other/handbook")


def test_an_address_that_cannot_be_opened_says_why(url: str) -> None:
    with pytest.raises(CorpusNotFound, match=r"Did you mean 'handbook'"):
        shortlist.search(f"{url}/handbok", "money")
    with pytest.raises(CorpusNotFound, match="names no corpus"):
        shortlist.open_corpus(url)
    with pytest.raises(InputError, match="Leave them out"):
        shortlist.open_corpus(f"{url}/handbook", "default")
    with pytest.raises(ServiceError, match="cannot be reached"):
        shortlist.open_corpus("http://127.0.0.1:9/handbook")


def test_addresses_alone_in_a_list_are_texts(url: str) -> None:
    """A list of texts may come from anywhere, so nothing is sent to addresses in it."""
    hits = shortlist.search(["https://example.com/handbook", "https://example.org/other"], "handbook", "lexical")
    assert [hit.text for hit in hits] == ["https://example.com/handbook"]
    both = [shortlist.open_corpus(f"{url}/{name}") for name in ("handbook", "tools")]
    assert {hit.corpus for hit in shortlist.search(both, "money parcel")} == {f"{url}/handbook", f"{url}/tools"}


def test_neither_requests_nor_settings_choose_an_address(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(CorpusNotFound, match="another service"):
        open_named(f"{url}/handbook", can_build=False)
    settings = tmp_path / "settings.yaml"
    settings.write_text(f"server:\n  corpora: ['{url}/handbook']\n", "utf-8")
    assert run(["serve", "--settings", str(settings)]) != 0
    assert "another service" in capsys.readouterr().err


def test_an_opened_address_is_used_again(url: str) -> None:
    corpus = open_named(f"{url}/handbook")
    assert isinstance(corpus, RemoteCorpus)
    assert open_named(f"{url}/handbook") is corpus
