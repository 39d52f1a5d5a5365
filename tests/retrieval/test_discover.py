"""Discovery: retrieve, select and disclose in one call, which abstains rather than guesses."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest

import shortlist
from shortlist import (
    Corpus,
    CorpusNotFound,
    CorpusSource,
    Document,
    Hit,
    InputError,
    build,
    create_corpus,
    disclose,
    discover,
    search,
    select,
)
from shortlist.results import Mode
from shortlist.retrieval.disclose import LONGEST_LINE
from shortlist.retrieval.relevance import CLEAR, UNLIKELY

MODES = get_args(Mode)
EXAMPLES = Path(__file__).parents[2] / "examples" / "data"
EMBEDDERS = ["none", "light", "default"]


def tools(embedder: str = "none") -> Corpus:
    return build(CorpusSource.from_catalog(EXAMPLES / "tools.yaml"), in_memory=True, embedder=embedder)


@pytest.fixture(scope="module", params=EMBEDDERS)
def shop(request: pytest.FixtureRequest) -> Corpus:
    return tools(request.param)


@pytest.fixture(scope="module")
def light() -> Corpus:
    return tools("light")


# The chain


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("level", ["metadata", "body"])
def test_discover_is_search_then_select_then_disclose(light: Corpus, mode: Mode, level: Any) -> None:
    query = "refund a payment to the card"
    found = discover(light, query, mode=mode, k=5, level=level)
    hits = search(light, query, mode=mode, k=5)
    selection = select(hits, "adaptive")
    assert [replace(item, needs=()) for item in found.results] == disclose(selection, level)
    assert found.reason == selection.reason
    assert found.signals.items() >= selection.signals.items()
    assert found.candidates == hits
    assert (found.query, found.mode, found.abstained) == (query, mode, False)


def test_the_options_of_each_stage_are_passed_on(light: Corpus) -> None:
    query = "refund a payment"
    only = {"access": "read"}
    found = discover(light, query, "dense", 7, only, strategy="top_k", max_k=2)
    assert found.candidates == search(light, query, "dense", 7, only)
    assert [hit.metadata["access"] for hit in found.candidates] == ["read"] * 7
    assert [item.id for item in found.results] == [hit.id for hit in found.candidates[:2]]
    found = discover(light, query, "lexical", strategy="rel_threshold", rel=0.0, max_k=10)
    assert [item.id for item in found.results] == [hit.id for hit in search(light, query, "lexical")]
    assert discover(light, query, "lexical", strategy="softmax", temperature=10.0, cutoff=100.0).abstained


def test_a_selector_of_ones_own_is_asked_with_the_hits(light: Corpus) -> None:
    asked: list[list[Hit]] = []

    def second(hits: list[Hit]) -> list[Hit]:
        asked.append(hits)
        return hits[1:2]

    found = discover(light, "refund a payment", strategy=second)
    assert asked == [found.candidates]
    assert [item.id for item in found.results] == [found.candidates[1].id]


@pytest.mark.parametrize("query", ["the of and", "zzzzqqq"])
def test_a_selector_of_ones_own_is_not_asked_about_a_query_that_says_nothing_here(query: str) -> None:
    def fail(hits: list[Hit]) -> list[Hit]:
        raise AssertionError

    assert discover(tools("default"), query, strategy=fail).abstained


def test_a_corpus_may_be_a_handful_of_texts_or_a_name() -> None:
    assert [item.id for item in discover({"a": "red apple", "b": "green pear"}, "pear", "lexical").results] == ["b"]
    assert [item.id for item in discover(["red apple", "green pear"], "a pear", "auto").results] == ["1"]
    with build({"a": "red apple", "b": "green pear"}, "fruit", embedder="none"):
        assert [item.name for item in discover("fruit", "apple").results] == ["a"]
    with pytest.raises(CorpusNotFound):
        discover("vegetables", "apple")


@pytest.mark.parametrize(
    "options",
    [{"mode": "fast"}, {"k": -1}, {"strategy": "bold"}, {"level": "all"}, {"max_k": 0}, {"filter": {"a": {"$x": 1}}}],
    ids=str,
)
@pytest.mark.parametrize("query", ["refund a payment", "", "zzzzqqq"])
def test_an_argument_that_means_nothing_is_an_input_error(light: Corpus, query: str, options: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        discover(light, query, **options)


def test_max_k_asks_for_that_many_results_even_more_than_there_are_candidates_by_default(light: Corpus) -> None:
    found = discover(light, "refund a payment", max_k=15)
    assert len(found.results) == len(found.candidates) == 15
    assert [item.id for item in found.results] == [hit.id for hit in search(light, "refund a payment", k=15)]
    assert len(discover(light, "refund a payment", max_k=2).results) == 2


def test_a_result_has_one_line_about_it_and_the_arguments_that_a_tool_needs(light: Corpus) -> None:
    found = discover(light, "refund_payment").results[0]
    assert found.description.startswith("Send money back to ")
    assert (len(found.description) <= LONGEST_LINE, found.description[-1]) == (True, "…")
    assert found.needs == ("payment_id", "amount")
    (text,) = discover({"a": "red apple\nin a bowl", "b": "green pear"}, "apple").results
    assert (text.description, text.needs) == ("red apple", ())


@pytest.mark.parametrize(
    ("schema", "needs"),
    [
        ({"required": ["city", 1, None]}, ("city",)),
        ({"required": True}, ()),
        ({"required": "city"}, ()),
        ({"properties": ["city"], "required": ["city"]}, ("city",)),
        ({"anyOf": True}, ()),
        ({"anyOf": [{"properties": 7}]}, ()),
    ],
    ids=str,
)
def test_a_tool_with_a_malformed_schema_is_found(schema: dict[str, Any], needs: tuple[str, ...]) -> None:
    payload = json.dumps({"name": "get_forecast", "parameters": schema})
    tool = Document("t", "get_forecast", "Rain and wind in a city.", kind="tool", payload=payload)
    assert [item.needs for item in discover([tool], "rain in the city", "lexical").results] == [needs]


@pytest.mark.parametrize("parameters", [5, [{"name": "city", "schema": "string"}]])
def test_a_tool_whose_metadata_only_look_like_an_operation_is_found(parameters: Any) -> None:
    metadata = {"method": "GET", "path": "/forecast", "parameters": parameters}
    tool = Document("t", "get_forecast", "Rain and wind in a city.", metadata=metadata, kind="tool")
    assert [item.id for item in discover([tool], "rain in the city", "lexical").results] == ["t"]


# The threshold

WEAK = "please refund"


@pytest.mark.parametrize("mode", ["auto", "lexical", "dense", "hybrid"])
def test_a_highest_relevance_below_min_relevance_abstains_in_every_mode(light: Corpus, mode: Mode) -> None:
    hits = search(light, WEAK, mode)
    best = max(hit.relevance or 0.0 for hit in hits)
    found = discover(light, WEAK, mode, min_relevance=best)
    assert (found.abstained, found.signals["min_relevance"]) == (False, best)
    found = discover(light, WEAK, mode, min_relevance=best + 0.01)
    assert found.abstained
    assert found.reason.startswith(f"The highest relevance, {best:.2g} (")
    assert "below the threshold" in found.reason
    assert found.candidates == hits


@pytest.mark.parametrize("mode", ["auto", "lexical", "dense"])
def test_abs_threshold_keeps_the_hits_that_reach_min_relevance(light: Corpus, mode: Mode) -> None:
    hits = search(light, WEAK, mode)
    for least in sorted(hit.relevance or 0.0 for hit in hits):
        found = discover(light, WEAK, mode, strategy="abs_threshold", min_relevance=least, max_k=10)
        assert {item.id for item in found.results} == {hit.id for hit in hits if (hit.relevance or 0.0) >= least}


@pytest.mark.parametrize("mode", ["lexical", "dense", "hybrid"])
def test_min_score_is_the_raw_score_of_a_mode_with_a_warning(light: Corpus, mode: Mode) -> None:
    best = search(light, WEAK, mode)[0].score
    with pytest.warns(DeprecationWarning, match="min_score is deprecated. Use min_relevance") as warned:
        assert not discover(light, WEAK, mode, min_score=best).abstained  # type: ignore[call-arg]
    assert warned[0].filename == __file__  # the line to change
    with pytest.deprecated_call():
        found = discover(light, WEAK, mode, min_score=best + 0.01)  # type: ignore[call-arg]
    assert found.reason.startswith("The best score")
    assert found.candidates == search(light, WEAK, mode)


def test_min_score_is_min_relevance_in_the_mode_auto(light: Corpus) -> None:
    best = max(hit.relevance or 0.0 for hit in search(light, WEAK))
    for given in (best, best + 0.01, "auto", None):
        with pytest.deprecated_call():
            found = discover(light, WEAK, min_score=given)  # type: ignore[call-arg]
        assert found == discover(light, WEAK, min_relevance=given)
    with pytest.deprecated_call():
        assert discover(light, WEAK, min_score=2.0).abstained  # type: ignore[call-arg]  # above every relevance


def test_min_score_beside_min_relevance_is_an_error(light: Corpus) -> None:
    with pytest.raises(InputError, match=r"min_score=0\.5 was passed beside min_relevance"):
        discover(light, WEAK, min_score=0.5, min_relevance=0.5)  # type: ignore[call-arg]


def test_auto_takes_the_floor_of_this_corpus_and_mode() -> None:
    corpus = tools("light")
    lexical, dense = (search(corpus, WEAK, mode)[0].score for mode in ("lexical", "dense"))
    corpus.set_threshold("lexical", lexical + 0.01)
    corpus.set_threshold("dense", dense - 0.01)
    abstained = discover(corpus, WEAK, "lexical", min_relevance="auto")
    assert (abstained.abstained, abstained.signals["min_score"]) == (True, lexical + 0.01)
    committed = discover(corpus, WEAK, "dense", min_relevance="auto")
    assert (committed.abstained, committed.signals["min_score"]) == (False, dense - 0.01)
    assert not discover(corpus, WEAK, "lexical", min_relevance=None).abstained
    corpus.set_threshold("lexical", None)
    assert not discover(corpus, WEAK, "lexical").abstained


def test_auto_without_a_calibrated_floor_says_so() -> None:
    found = discover(tools(), WEAK, "lexical", min_relevance="auto")
    assert not found.abstained
    assert "this corpus has none calibrated" in found.signals["floor"]
    assert "floor" not in discover(tools(), WEAK, "lexical", min_relevance=0.0).signals


def test_the_floor_is_kept_with_the_corpus(tmp_path: Path) -> None:
    with create_corpus(path=tmp_path / "c", embedder="none") as corpus:
        corpus.add([Document("a", "", "apple")])
        corpus.set_threshold("lexical", 100.0)
    assert discover(tmp_path / "c", "apple", "lexical", min_relevance="auto").abstained


@pytest.mark.parametrize("given", ["high", "", "0.4", 1.5, -1, True])
def test_a_threshold_that_is_not_from_0_to_1_is_an_input_error(light: Corpus, given: Any) -> None:
    with pytest.raises(InputError, match=f"min_relevance must be a number from 0 to 1, 'auto' or None, not {given!r}"):
        discover(light, WEAK, min_relevance=given)


# Abstaining

NOTHING_ASKED = ["", " ", "\n\t ", "the", "of the and", "is it not", "...", "?!", "- / -", "\u3000", "\u200b", "\0"]
GIBBERISH = [
    "xqzvw blorfnik",
    "zzzzqqq",
    "wgah nagl fhtagn",
    "szyci",
    "pyop",
    "woi",
    "xwqnqvgj",
    "bplsrgqnp",
    "fczrzibvccao",
    "meb",
    "cjjx",
    "kngiv",
    "tjegerxbykt",
    "wjrlfww",
]


@pytest.mark.parametrize("query", NOTHING_ASKED, ids=ascii)
def test_a_query_that_asks_nothing_abstains_in_every_mode(shop: Corpus, query: str) -> None:
    modes = MODES if shop.config.dim else ("auto", "lexical")
    for mode in modes:
        found = discover(shop, query, mode=mode)
        assert (found.abstained, found.results) == (True, [])
        assert found.reason in ("No document matches.", "The query has no searchable terms.")


@pytest.mark.parametrize("query", GIBBERISH)
def test_a_query_of_unknown_words_abstains_in_every_mode(shop: Corpus, query: str) -> None:
    modes = MODES if shop.config.dim else ("auto", "lexical")
    for mode in modes:
        assert [item.id for item in discover(shop, query, mode=mode).results] == []


def test_without_a_threshold_a_query_is_answered_with_what_it_matches() -> None:
    corpus = tools("default")
    query = "which customer painted the sistine chapel"
    assert discover(corpus, query).abstained
    found = discover(corpus, query, min_relevance=None)
    assert (found.abstained, found.results[0].id) == (False, search(corpus, query)[0].id)
    assert not {"floor", "min_relevance"} & set(found.signals)
    assert discover(tools(), "xyzzy customer", "lexical", min_relevance=None).results != []
    assert discover(tools(), "xyzzy plugh", "lexical", min_relevance=None).results == []


@pytest.mark.parametrize("mode", MODES)
def test_an_empty_corpus_abstains(mode: Mode) -> None:
    found = discover(create_corpus(in_memory=True, embedder="light"), "refund", mode=mode)
    assert (found.abstained, found.reason, found.candidates) == (True, "No document matches.", [])


def test_a_filter_that_nothing_meets_abstains(light: Corpus) -> None:
    assert discover(light, "refund a payment", filter={"access": "nobody"}).abstained


def test_k_zero_abstains(light: Corpus) -> None:
    assert discover(light, "refund a payment", k=0).abstained


def test_a_query_that_means_the_same_in_other_words_is_answered() -> None:
    corpus = create_corpus(in_memory=True, embedder="default")
    corpus.add([Document("doctor", "", "physician"), Document("car", "", "automobile"), Document("sea", "", "ocean")])
    assert [item.id for item in discover(corpus, "automobiles vehicles").results] == ["car"]
    assert [item.id for item in discover(corpus, "doctors", mode="dense").results] == ["doctor"]


@pytest.mark.parametrize("spelled", ["get_customer_profile", "getCustomerProfile", "get customer profile"])
def test_a_tool_that_the_query_names_is_committed_to(shop: Corpus, spelled: str) -> None:
    assert "get_customer_profile" in [item.id for item in discover(shop, spelled).results]


def test_the_same_question_gets_the_same_answer(shop: Corpus) -> None:
    first, second = (discover(shop, "send the customer an email").to_dict() for _ in range(2))
    assert first == second


# What comes out


@pytest.mark.parametrize("query", ["refund a payment", "", "xqzvw"])
@pytest.mark.parametrize("level", ["metadata", "body", "bundled"])
def test_a_discovery_becomes_plain_json(light: Corpus, query: str, level: Any) -> None:
    found = discover(light, query, level=level, min_relevance="auto")
    written = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert list(written) == [
        "query", "mode", "abstained", "reason", "confidence", "confidence_reason", "signals", "results", "candidates",
    ]  # fmt: skip
    assert written["results"] == [item.to_dict() for item in found.results]
    assert written["candidates"] == [
        {"id": hit.id, "name": hit.name, "score": hit.score, "relevance": hit.relevance, "corpus": hit.corpus}
        for hit in found.candidates
    ]
    assert (written["query"], written["mode"], written["abstained"]) == (query, "auto", found.abstained)


@pytest.mark.parametrize(
    ("source", "query", "expected"),
    [
        (
            CorpusSource.from_skills(EXAMPLES / "skills"),
            "how do I deploy the app to the server",
            "deploy-to-production",
        ),
        (
            CorpusSource.from_files(EXAMPLES / "docs", pattern=r"\.md$"),
            "how long may I return goods",
            "returns-policy.md",
        ),
        (
            CorpusSource.from_mapping({"deploy": "Deploy the app to the server.", "cake": "Bake a cake in an hour."}),
            "how do I deploy the app to the server",
            "deploy",
        ),
    ],
    ids=["skills", "files", "mapping"],
)
@pytest.mark.parametrize("embedder", ["light", "default"])
def test_the_first_example_finds_the_right_thing(
    source: CorpusSource, query: str, expected: str, embedder: str
) -> None:
    with build(source, embedder=embedder) as corpus:
        result = discover(corpus, query)
        assert not result.abstained
        assert result.results[0].id == expected
        best = result.candidates[0]
        assert (result.results[0].score, result.results[0].name) == (best.score, best.name)
        assert json.loads(json.dumps(result.to_dict()))["results"][0]["id"] == expected


def test_the_stages_can_be_called_one_by_one() -> None:
    source = shortlist.CorpusSource.from_skills(EXAMPLES / "skills")
    query = "deploy app"
    with shortlist.build(source, embedder="light") as corpus:
        hits = shortlist.search(corpus, "deploy app", mode="hybrid")
        assert hits[0].id == "deploy-to-production"
        sel = shortlist.select(hits)
        assert [hit.id for hit in sel.selected][:1] == ["deploy-to-production"]
        assert shortlist.select(hits, min_score=0.4).abstained  # a sum of two reciprocal ranks is at most 2 / 61
        assert shortlist.select(hits, strategy="score_gap").selected == hits[:3]
        payloads = shortlist.disclose(sel, level="body")
        assert payloads[0].body == (EXAMPLES / "skills/deploy-to-production/SKILL.md").read_text("utf-8")
        corpus.set_threshold("dense", 0.99)
        assert shortlist.discover(corpus, query, mode="dense", min_relevance="auto").abstained


def test_letters_that_mean_nothing_are_not_committed_to_by_any_embedder() -> None:
    texts = {"filter": "Filter coffee from Peru.", "cold": "Cold coffee steeped for a night.", "green": "Green beans."}
    for embedder in ("light", "default", "tools", "none"):
        corpus = shortlist.build(texts, in_memory=True, embedder=embedder)
        assert shortlist.discover(corpus, "xyzzy plugh").results == []


# Confidence


def test_a_discovery_says_how_sure_it_is_and_why(light: Corpus) -> None:
    sure = discover(light, "refund_payment")
    assert (sure.confidence, sure.abstained) == ("high", False)
    vague = "something unknown about a customer somewhere"
    relevances = [hit.relevance or 0.0 for hit in search(light, vague)]
    unsure = discover(light, vague, min_relevance=0.0)
    assert UNLIKELY <= max(relevances) < CLEAR
    assert (unsure.confidence, unsure.abstained) == ("low", False)
    assert f"may fit: its relevance is {max(relevances):.2f}" in unsure.confidence_reason
    refused = discover(light, vague, min_relevance=CLEAR)
    assert (refused.confidence, refused.abstained) == ("low", True)
    assert refused.confidence_reason.endswith(f"near the threshold of {CLEAR:g}.")
    assert any(hit.name in refused.confidence_reason for hit in refused.candidates)
    nothing = discover(light, "xyzzy plugh", "lexical")
    assert (nothing.confidence, nothing.confidence_reason) == ("high", "No document matches.")
    data = unsure.to_dict()
    assert (data["confidence"], data["confidence_reason"]) == ("low", unsure.confidence_reason)


@pytest.mark.parametrize(("query", "named"), [("write poems in the rain", True), ("order a pizza", False)])
def test_the_closest_match_is_suggested_by_name_only_if_it_is_somewhat_relevant(query: str, named: bool) -> None:
    tools = {"write_file": "Write a text to a file on disk.", "send_mail": "Send an e-mail to a person."}
    signals = discover(build(tools, in_memory=True, embedder="default"), query).signals
    assert (signals["near_misses"][0]["relevance"] >= 0.1) is named
    assert any("by name" in advice for advice in signals["try"]) is named
