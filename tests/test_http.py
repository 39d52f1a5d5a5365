"""JSON over HTTP: retries, errors and server-sent events."""

from __future__ import annotations

import email.utils
import time
from itertools import islice
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shortlist._http import (
    EventParser,
    JsonClient,
    Unavailable,
    backoff,
    is_loopback,
    message_in,
    read_events,
    retry,
    retry_after,
)
from shortlist.errors import InputError, ServiceError


@given(st.lists(st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]))), st.data())
def test_events_are_the_same_wherever_the_bytes_are_cut(texts: list[str], data: st.DataObject) -> None:
    end = data.draw(st.sampled_from(["\n", "\r\n", "\r"]))
    whole = "".join(f"id: 1{end}data: {text}{end}{end}" for text in texts).encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)))))
    chunks = [whole[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    assert list(read_events(chunks)) == texts


def test_an_event_of_several_lines_is_one_and_one_without_end_is_none() -> None:
    assert list(read_events([b"\xef\xbb\xbfdata: a\ndata:b\n\nevent: x\n\ndata: never ended"])) == ["a\nb"]


def test_an_event_has_the_name_that_precedes_its_data() -> None:
    parser = EventParser()
    assert list(parser.feed(b"event: step\nda")) == []
    assert list(parser.feed(b"ta: 1\n\ndata: 2\n\n")) == [("step", "1"), ("", "2")]


def test_delays_double_up_to_the_longest_and_end_after_the_tries() -> None:
    assert len(list(backoff(4))) == 3
    delays = list(islice(backoff(None, 1.0, 4.0), 20))
    assert all(0.75 * base <= delay <= 1.25 * base for delay, base in zip(delays, [1, 2, *[4] * 18], strict=True))


def test_an_attempt_is_made_again_after_the_delay_that_the_server_asks_for() -> None:
    failures = [Unavailable(ServiceError("busy"), 7.0), Unavailable(ServiceError("busy"))]
    paused: list[float] = []

    def attempt() -> str:
        if failures:
            raise failures.pop(0)
        return "done"

    assert retry(attempt, [1.0, 2.0], pause=paused.append) == "done"
    assert paused == [7.0, 2.0]


def test_when_no_delay_is_left_the_failure_is_raised() -> None:
    paused: list[float] = []

    def attempt() -> None:
        raise Unavailable(ServiceError("still busy"))

    with pytest.raises(ServiceError, match="still busy"):
        retry(attempt, [1.0], pause=paused.append)
    assert paused == [1.0]


def test_a_wait_is_a_number_of_seconds_or_a_date() -> None:
    later = email.utils.formatdate(time.time() + 3600, usegmt=True)
    given = ["3", "-1", later, email.utils.formatdate(0, usegmt=True), "soon", ""]
    waits = [retry_after(SimpleNamespace(headers={"retry-after": text})) for text in given]
    assert waits[2] is not None
    assert 3000 < waits[2] <= 3600
    assert [*waits[:2], *waits[3:]] == [3.0, 0.0, 0.0, None, None]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('{"error": {"message": "no such model"}}', "no such model"),
        ('{"error": "no such model"}', "no such model"),
        ('{"message": "no such model"}', "no such model"),
        ("[1]", "[1]"),
        (" Bad gateway\n", "Bad gateway"),
        ("", "no message"),
    ],
)
def test_the_message_of_a_server_is_found_in_its_answer(body: str, message: str) -> None:
    assert message_in(body) == message


def test_only_hosts_of_this_machine_are_loopback() -> None:
    assert [is_loopback(host) for host in ("127.0.0.1", "127.9.9.9", "::1", "localhost")] == [True] * 4
    assert [is_loopback(host) for host in ("10.0.0.1", "::", "localhost.example", "")] == [False] * 4


@pytest.mark.parametrize("url", ["localhost:8080", "ftp://host", "http://", "http://[::1"])
def test_an_address_without_scheme_or_host_is_refused(url: str) -> None:
    with pytest.raises(InputError, match="is not a valid address"):
        JsonClient(url, ServiceError)


def test_a_key_never_appears_in_an_error() -> None:
    client = JsonClient("http://127.0.0.1:9", ServiceError, key=" sk-hidden ")
    assert str(client.error("wrong key sk-hidden")) == "wrong key ***"
    with pytest.raises(InputError, match=r"key for 127\.0\.0\.1") as caught:
        client.set_key("sk-hidd\u00e9n")
    assert "hidd" not in str(caught.value)
    client.close()
