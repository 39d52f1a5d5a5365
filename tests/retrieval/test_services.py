"""Names of services in a query: one that no document mentions lowers the relevance of every hit."""

from __future__ import annotations

import math

import pytest

from shortlist import Corpus, Document, build, search
from shortlist.retrieval.relevance import OTHER_SERVICE
from shortlist.retrieval.services import find_unknown_services

ISSUE = Document("issue", "create_issue", "Open a new issue with a title in a project.", kind="tool")
PAGE = Document("page", "create_page", "Create a page with a title.", kind="tool")
MENTION = Document("mirror", "mirror_repository", "Copy a repository from GitLab.", kind="tool")


def catalog(*documents: Document) -> Corpus:
    return build([ISSUE, PAGE, *documents], in_memory=True, embedder="none")


def unknown(query: str, corpus: Corpus) -> list[str]:
    with corpus.snapshot() as state:
        return find_unknown_services(query, state.lexical)


def odds_of(id: str, query: str, corpus: Corpus) -> float:
    """The log odds of the relevance of one hit."""
    (relevance,) = (hit.relevance for hit in search(corpus, query) if hit.id == id)
    assert relevance is not None
    return math.log(relevance / (1 - relevance))


@pytest.mark.parametrize("name", ["GitLab", "gitlab", "GITLAB", "Google Sheets", "google sheets"])
def test_a_name_of_a_service_is_known_in_any_case(name: str) -> None:
    assert unknown(f"create an issue in {name}, please", catalog()) == [name]
    assert unknown(f"{name}: create an issue", catalog()) == [name]


@pytest.mark.parametrize(
    "query",
    [
        "create a page about a notion",
        "Notion of a page",
        "Create a page",
        "create an issue in gitlabs",
        "google a page",
    ],
)
def test_a_common_word_is_a_service_only_as_written_and_not_first(query: str) -> None:
    assert unknown(query, catalog()) == []
    assert unknown("create a page in Notion", catalog()) == ["Notion"]


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("Jiraにチケットを作って", ["Jira"]),
        ("うちのGitLabプロジェクトのSlackに", ["GitLab", "Slack"]),
        ("Redis에 키 하나 넣어줘", ["Redis"]),
        ("把issue同步到Google Sheets里", ["Google Sheets"]),
        ("Excel शीट का टोटल निकालो", ["Excel"]),
        ("فتح طلب وGitLab", ["GitLab"]),
        ("Excelência e Wördle", []),
    ],
)
def test_names_are_recognized_beside_letters_of_other_scripts(query: str, names: list[str]) -> None:
    assert unknown(query, catalog()) == names


@pytest.mark.parametrize("mention", ["GitLab", "gitlab", "GITLAB", "gitlab_mirror", "gitlab.com"])
def test_a_service_that_a_document_mentions_is_not_unknown(mention: str) -> None:
    corpus = catalog(Document("mirror", "mirror", f"Copy a repository from {mention}.", kind="tool"))
    for name in ("GitLab", "gitlab"):
        assert unknown(f"create an issue in {name} or Jira", corpus) == ["Jira"]


def test_a_query_that_names_an_unknown_service_has_a_lower_relevance() -> None:
    plain, other = "create an issue", "create an issue in gitlab"
    assert odds_of("issue", other, catalog()) < odds_of("issue", plain, catalog()) + OTHER_SERVICE


def test_the_name_of_a_service_lowers_the_relevance_more_than_any_unknown_word() -> None:
    word, service = "create an issue in blorfnik", "create an issue in gitlab"
    assert odds_of("issue", service, catalog()) == pytest.approx(odds_of("issue", word, catalog()) + OTHER_SERVICE)
    mentioned = catalog(MENTION)
    assert odds_of("issue", service, mentioned) > odds_of("issue", word, mentioned)
