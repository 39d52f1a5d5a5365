"""The address of an engine: its parts, its errors, and that it never shows secrets."""

from __future__ import annotations

import pytest

from shortlist import InputError
from shortlist.index.engines.address import Address, Credentials


def test_an_address_names_dialect_hosts_prefix_and_options() -> None:
    address = Address.parse("opensearch+https://one:9201,two,[::1]:9300/team?shards=3&replicas=2&timeout=1.5")
    assert (address.dialect, address.scheme, address.prefix) == ("opensearch", "https", "team")
    assert address.urls == ["https://one:9201", "https://two:9200", "https://[::1]:9300"]
    assert (address.shards, address.replicas, address.timeout) == (3, 2, 1.5)


def test_parts_of_an_address_have_defaults() -> None:
    address = Address.parse("elasticsearch+http://localhost")
    assert (address.hosts, address.prefix, address.shards) == (("localhost:9200",), "shortlist", 1)
    assert (address.replicas, address.timeout) == (None, 30.0)
    assert str(address) == "elasticsearch+http://localhost:9200/shortlist"


def test_address_survives_formatting_and_parsing() -> None:
    for text in ("opensearch+http://a:1,b:2/p?shards=2&replicas=0&timeout=5", "elasticsearch+https://a:1/p"):
        assert str(Address.parse(text)) == text


def test_user_and_password_are_used_and_never_shown() -> None:
    address = Address.parse("opensearch+https://ann:se%40cret@host/p")
    assert address.credentials == Credentials("ann", "se@cret")
    for shown in (str(address), repr(address), repr(address.credentials), f"{address}"):
        assert "se" not in shown.replace("opensearch", "").replace("user", "")


@pytest.mark.parametrize(
    "wrong",
    [
        "http://localhost:9200",
        "opensearch://localhost",
        "opensearch+http://",
        "opensearch+http://host:99999/p",
        "opensearch+http://host/Upper",
        "opensearch+http://host/a/b",
        "opensearch+http://host/p?shards=0",
        "opensearch+http://host/p?shards=many",
        "opensearch+http://host/p?color=red",
        "embeded",
    ],
)
def test_wrong_address_is_an_error(wrong: str) -> None:
    with pytest.raises(InputError):
        Address.parse(wrong)


def test_error_of_a_wrong_address_does_not_show_its_password() -> None:
    with pytest.raises(InputError) as caught:
        Address.parse("opensearch+ftp://ann:secret@host/p")
    assert "secret" not in str(caught.value)


def test_credentials_from_sign_in_are_sent_only_where_no_one_else_can_read_them() -> None:
    ann = Credentials("ann", "secret", "ca.pem")
    for private in ("opensearch+https://far:9200/p", "opensearch+http://127.0.0.1:9200/p", "opensearch+http://[::1]/p"):
        assert Address.parse(private).with_credentials(ann).credentials == ann
    assert Address.parse("opensearch+http://far:9200/p").with_credentials(ann).credentials == Credentials()
    named = Address.parse("opensearch+https://bob:other@far/p").with_credentials(ann)
    assert named.credentials == Credentials("bob", "other", "ca.pem")
