"""What looks like a secret is hidden; what only looks similar is not."""

from __future__ import annotations

import pytest

from shortlist._redact import is_secret_name, redact, redact_query, redact_words, secrets_in_url, secrets_in_words

GITHUB = "ghp_" + "a1B2" * 9


SECRET_NAMES = """
    --access-token API_KEY apiKey x-api-key PGPASSWORD --password Authorization github_pat secret --connection-string
    connectionString --dsn CLIENT_SECRET AWS_SECRET_ACCESS_KEY
"""


@pytest.mark.parametrize("name", SECRET_NAMES.split())
def test_names_of_secrets_are_known(name: str) -> None:
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name",
    ["--max-tokens", "--key-file", "tokenizer", "--author", "--auth-mode", "--url", "keyboard", "-y", "", "--port"],
)
def test_other_names_are_not(name: str) -> None:
    assert not is_secret_name(name)


@pytest.mark.parametrize(
    ("words", "hidden"),
    [
        (["server", "--access-token", "abc-def-123-456"], ["abc-def-123-456"]),
        (["server", "--api-key=abc-def-123-456"], ["abc-def-123-456"]),
        (["-y", "server", "API_KEY=abc-def-123-456"], ["abc-def-123-456"]),
        (["pg", "postgresql://ada:s3cr3t-word@db.example/shop"], ["s3cr3t-word"]),
        (["pg", "postgresql://ada:p%40ssw0rd%21@db.example/shop"], ["p@ssw0rd!", "p%40ssw0rd%21"]),
        (["remote", "https://mcp.example/sse?api_key=abc-def-123-456"], ["abc-def-123-456"]),
        (["remote", "https://mcp.example", "--header", "Authorization: Bearer abc-def-123-456"], ["abc-def-123-456"]),
        (["server", GITHUB], [GITHUB]),
        (["run", "sh", "-c", f"TOKEN={GITHUB} exec server"], [GITHUB]),
    ],
)
def test_secrets_in_a_command_line_are_hidden_wherever_they_are_printed(words: list[str], hidden: list[str]) -> None:
    secrets = list(secrets_in_words(words))
    for value in hidden:
        assert redact(f"cannot log in with {value}!", secrets) == "cannot log in with ***!"
    assert not any(value in redact(" ".join(words), secrets) for value in hidden)


def test_plain_words_of_a_command_line_are_not_secrets() -> None:
    words = [
        "npx",
        "-y",
        "@scope/server",
        "--port",
        "8080",
        "--max-tokens",
        "4096",
        "https://example.org/mcp?page=2",
        ".",
    ]
    assert list(secrets_in_words(words)) == []
    assert redact(" ".join(words)) == " ".join(words)


def test_a_value_shorter_than_8_characters_is_hidden_after_its_name_and_never_garbles_other_text() -> None:
    secrets = [("API_KEY", "none"), ("LEVEL", "info"), *secrets_in_words(["--token", "abc", "pg://u:pw@host/db"])]
    text = "information: none of the abcs said info, none hosts; pwd"
    assert redact(text, secrets) == text
    assert redact('API_KEY=none LEVEL: info "--token", "abc"', secrets) == 'API_KEY=*** LEVEL: *** "--token", "***"'
    assert redact("cannot reach pg://u:pw@host/db", secrets) == "cannot reach pg://***@host/db"


def test_tokens_and_userinfo_are_hidden_although_no_one_named_them() -> None:
    text = f"401 for {GITHUB} at https://ada:pw@example.org/x and user@example.org"
    assert redact(text) == "401 for *** at https://***@example.org/x and user@example.org"
    assert redact("-----BEGIN RSA PRIVATE KEY-----\nMIIB\n-----END RSA PRIVATE KEY-----\nend") == "***\nend"


def test_what_is_no_url_hides_all_of_it() -> None:
    secrets = list(secrets_in_url("http://[abc-def-123-456?key=x"))
    assert "abc-def" not in redact("bad address http://[abc-def-123-456?key=x", secrets)


def test_a_command_line_is_shown_without_secrets_but_with_the_variables_that_it_expands() -> None:
    words = [
        "npx",
        "server",
        "--token",
        "abc",
        "--key=def",
        "--auth",
        "${TOKEN}",
        "pg://u:${PASSWORD}@host",
        "--port",
        "80",
    ]
    assert redact_words(words) == [
        *["npx", "server", "--token", "***", "--key=***", "--auth", "${TOKEN}"],
        *["pg://u:${PASSWORD}@host", "--port", "80"],
    ]


@pytest.mark.parametrize(
    ("query", "stored"),
    [
        ("my password is hunter2hunter2", "my password is ***"),
        ("log in, my password is swordfish please", "log in, my password is *** please"),
        ("The password was: Tr0ub4dor&3.", "The password was: ***"),
        ("password: hunter2", "password: ***"),
        ("password hunter2x works where", "password *** works where"),
        ("mein Passwort ist Sommer2024!", "mein Passwort ist ***"),
        ("Passwort lautet geheim", "Passwort lautet ***"),
        ("password for gmail is swordfish", "password for gmail is ***"),
        ("my pin is 4711", "my pin is ***"),
        ("pin 4711 does not work", "pin *** does not work"),
        ("PIN: 4711", "PIN: ***"),
        ("secret: abc", "secret: ***"),
        ("the api key is Zx81Zx81", "the api key is ***"),
        ("token = abc", "token = ***"),
        ('the passphrase is "correct horse battery"', "the passphrase is ***"),
        ("pay with 4111 1111 1111 1111 now", "pay with *** now"),
        ("pay with 4111-1111-1111-1111", "pay with ***"),
        ("charge 378282246310005", "charge ***"),
        ("write to ada.lovelace+x@mail.example.org", "write to ***"),
        ("transfer to DE89 3704 0044 0532 0130 00 today", "transfer to *** today"),
        ("transfer to gb29nwbk60161331926819", "transfer to ***"),
        ("AWS_SECRET=abc-def-123-456 deploy", "AWS_SECRET=*** deploy"),
        (f"use {GITHUB}", "use ***"),
    ],
)
def test_secrets_and_personal_numbers_in_a_query_are_hidden(query: str, stored: str) -> None:
    assert redact_query(query) == stored
    assert redact_query(stored) == stored  # a stored query is compared with new ones


@pytest.mark.parametrize(
    "query",
    [
        "reset my password",
        "change the password for my account",
        "what to do if the password is wrong",
        "my password is expired",
        "password is not accepted",
        "password is required for login",
        "Passwort ist falsch",
        "mein Passwort ist abgelaufen",
        "das Kennwort ist gesperrt",
        "what is my pin",
        "pin a message to the channel",
        "pin is blocked",
        "pin 3 messages",
        "rotate a secret in the vault",
        "the token is invalid",
        "count the tokens of a text",
        "list api keys",
        "password policy",
        "track order 4111111111111112",  # no card
        "call +49 30 1234567",
        "invoice 2024-000123 of customer 12345678",
        "DE89 3704 0044 0532 0130 02",  # no IBAN
        "send an email @channel",
        "compare numpy@2.4 and numpy@2.3",
    ],
)
def test_an_ordinary_query_stays_as_it_is(query: str) -> None:
    assert redact_query(query) == query
