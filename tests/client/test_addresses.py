"""Which addresses are sent to, and which of them get the token of the environment."""

from __future__ import annotations

import pytest

from shortlist import Client, InputError
from shortlist.cli import run
from shortlist.client.addresses import TOKEN, confirmation_of, find_token, is_service_address, parse_address
from shortlist.safety import confirmations


@pytest.mark.parametrize(
    ("url", "choices"),
    [
        ("https://host/handbook", [("https://host", "handbook")]),
        ("https://host:8443/handbook/", [("https://host:8443", "handbook")]),
        ("https://host/a/b", [("https://host", "a/b"), ("https://host/a", "b")]),
        ("http://[::1]:9200/docs%20x", [("http://[::1]:9200", "docs x")]),
    ],
)
def test_the_path_is_split_into_service_and_corpus(url: str, choices: list[tuple[str, str]]) -> None:
    assert parse_address(url).choices == choices


@pytest.mark.parametrize(
    ("url", "match"),
    [
        ("ftp://host/x", "not the address"),
        ("https://", "not the address"),
        ("https://host:port/x", "not the address"),
        ("https://me:secret@host/x", "token="),
        ("https://host/x?y=1", r"\? or #"),
        ("http://host/x", "not encrypted"),
    ],
)
def test_an_invalid_address_is_an_error_without_its_secrets(url: str, match: str) -> None:
    with pytest.raises(InputError, match=match) as error:
        parse_address(url)
    assert "secret" not in str(error.value)


def test_plain_http_is_for_this_machine_unless_the_user_allows_it() -> None:
    for url in ("http://127.0.0.1:9200", "http://localhost", "http://[::1]"):
        assert parse_address(url).is_local
    assert not parse_address("http://host", allow_http=True).is_local
    with pytest.raises(InputError, match="shortlist trust http://host"):
        Client("http://host")
    assert run(["trust", "http://host/some/path", "--yes", "--json"]) == 0
    assert Client("http://host/service").url == "http://host/service"


def test_the_token_of_the_environment_is_sent_to_this_machine_and_to_confirmed_origins(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(TOKEN, " secret ")
    here, there = parse_address("http://127.0.0.1:9200/a"), parse_address("https://host.example/a")
    assert (find_token(here, None), find_token(there, None)) == ("secret", "")
    assert find_token(there, "given") == "given"
    assert find_token(here, "") == ""
    assert run(["trust", "https://host.example/other", "--yes", "--json"]) == 0
    assert "https://host.example" in capsys.readouterr().out
    assert find_token(there, None) == "secret"
    assert find_token(parse_address("https://host.example:444/a"), None) == ""
    assert find_token(parse_address("https://host.example.evil/a"), None) == ""
    assert run(["trust", "https://host.example", "--revoke", "--json"]) == 0
    assert find_token(there, None) == ""


def test_a_confirmation_for_a_project_is_not_one_for_a_service(monkeypatch: pytest.MonkeyPatch) -> None:
    address = parse_address("https://host.example/a")
    confirmations.confirm("cluster", confirmation_of(address).place, address.origin)
    monkeypatch.setenv(TOKEN, "secret")
    assert find_token(address, None) == ""


def test_only_strings_with_a_scheme_are_addresses() -> None:
    assert [is_service_address(name) for name in ("https://a/b", "http://a", "handbook", "docs:http://a", 7)] == [
        True, True, False, False, False,
    ]  # fmt: skip
