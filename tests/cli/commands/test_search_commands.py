"""The commands search, discover and read."""

from __future__ import annotations

from tests.cli.conftest import Shell


def test_a_query_needs_no_quotes_and_a_filter_may_be_json_or_a_pair(shop: Shell) -> None:
    plain = shop("search", "shop", "refund", "the", "payment", "--json", "--filter", "access=write")
    written = shop("search", "shop", "refund the payment", "--json", "--filter", '{"access": {"$eq": "write"}}')
    assert plain.json == written.json
    assert {hit["metadata"]["access"] for hit in plain.json["hits"]} == {"write"}
    both = shop("search", "shop", "refund", "--filter", "access=write", "--filter", "category=payments", "--json").json
    assert {(hit["metadata"]["access"], hit["metadata"]["category"]) for hit in both["hits"]} == {("write", "payments")}


def test_several_corpora_are_named_with_commas_or_one_by_one(shop: Shell) -> None:
    shop("register", "team", "skills", "--root", "skills")
    for names in (["shop,team"], ["-c", "shop", "-c", "team"], ["--corpus", "team,shop"]):
        found = shop("search", *names, "roll back a bad release", "--json").json
        assert {hit["corpus"] for hit in found["hits"]} == {"shop", "team"}
    assert "skill in team" in shop("search", "shop,team", "roll back a bad release").out


def test_no_match_is_a_document_too(shop: Shell) -> None:
    done = shop("search", "shop", "refund", "--filter", "access=none", "--json")
    assert (done.code, done.json["hits"]) == (3, [])
    done = shop("discover", "shop", "xqzvw", "--json")
    assert (done.code, done.json["abstained"], done.json["results"]) == (3, True, [])
    empty = shop("search", "shop", "refund", "--filter", "access=none")
    assert (empty.out, empty.code) == ("No match.\n", 3)
    assert "the best is refund_payment, which has category, access, server, parameters." in empty.err
    assert shop("search", "shop", "refund", "--filter", "access=none", "--quiet").out == ""


def test_an_empty_query_is_named(shop: Shell) -> None:
    done = shop("search", "shop", " ")
    assert (done.code, "The query is empty." in done.err) == (3, True)
    done = shop("discover", "shop", " ")
    assert (done.code, "The query is empty." in done.out) == (3, True)


def test_a_search_of_which_nothing_is_known_says_so_on_stderr(shop: Shell) -> None:
    done = shop("search", "shop", "xqzvw", "--json")
    assert done.json["hits"]
    assert (done.code, done.json["note"] in done.err) == (0, True)
    assert shop("search", "shop", "refund", "--json").err == ""
    assert shop("search", "shop", "xqzvw", "--quiet").err == ""


def test_min_score_is_accepted_with_a_line_on_stderr_and_keeps_its_meaning(shop: Shell) -> None:
    lexical = ("discover", "shop", "refund a payment", "--mode", "lexical", "--json")
    done = shop(*lexical, "--min-score", "1000")
    assert (done.code, done.json["signals"]["min_score"]) == (3, 1000)
    assert done.err == "shortlist: --min-score is deprecated. Use --min-relevance, a number from 0 to 1.\n"
    assert shop(*lexical, "--min-score", "1").code == 0
    assert shop(*lexical, "--min-score", "none").json == shop(*lexical, "--min-relevance", "none").json
    assert shop(*lexical, "--min-score", "1000", "--quiet").err == ""
    auto = shop("discover", "shop", "refund a payment", "--min-score", "0.99", "--json")
    assert auto.json == shop("discover", "shop", "refund a payment", "--min-relevance", "0.99", "--json").json
    both = shop("discover", "shop", "refund", "--min-relevance", "0.5", "--min-score", "2")
    assert (both.code, "cannot be combined" in both.err) == (2, True)
    assert "min-score" not in shop("discover", "--help").out
