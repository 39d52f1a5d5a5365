"""Secrets in command lines, URLs and queries, and how they are hidden in text that is printed, logged or returned."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

HIDDEN = "***"
SHORTEST = 8  # characters; a shorter value also occurs by chance, so it is hidden only right after its name

Secret = tuple[str, str]  # the name that a value goes by, such as a flag or a variable, or ""; and the value

# The last word of a name decides: access-token and apiKey hold secrets, max-tokens and key-file do not.
_SECRET_WORD = re.compile(
    r".*(?:token|secret|password|passwd|passphrase|apikey)|pass|pwd|pat|key|auth|authorization|bearer|credentials?|cookie|dsn"
)
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z0-9]+")
_HEADER_FLAGS = ("-H", "--header", "--headers")
_HEADER = re.compile(r"\s*([\w-]+)\s*:\s*(\S.*)")
_USERINFO = re.compile(r"(\b[a-zA-Z][a-zA-Z0-9+.-]*://)(?![^\s/@]*\$\{)[^\s/@\"'<>]+@")  # a ${VARIABLE} is only a name
_URL = re.compile(r"\b[a-zA-Z][a-zA-Z0-9+.-]*://\S+")
_TOKEN = re.compile(
    r"\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|sk-[\w-]{16,}|(?:sk|pk|rk)_(?:live|test)_\w{16,}"
    r"|xox[a-z]-[\w-]{10,}|(?:AKIA|ASIA)[A-Z0-9]{16}|AIza[\w-]{30,}|ya29\.[\w-]{20,}|eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?"
    r"|npm_[A-Za-z0-9]{30,}|pypi-[\w-]{30,}|hf_[A-Za-z0-9]{20,}|ntn_\w{20,}|secret_\w{30,}|fc-[0-9a-f]{24,}"
    r"|tvly-[\w-]{16,}|lin_api_\w{20,}|dop_v1_[0-9a-f]{40,}|SG\.[\w-]{16,}\.[\w-]{16,}|(?:key|pat)[A-Za-z0-9]{14}\.[0-9a-f]{40,})"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)",
    re.DOTALL,
)
_always: set[str] = set()

# What people write in queries. The value after one of these words is hidden: after a colon or = whatever it is, after
# "is" unless it is an ordinary word ("my password is expired"), and else only if it has the shape of a secret.
_NAMED = (
    r"(?:pass ?words?|passwort|kennwort|pass ?phrase|passcode|pwd|secret(?: key)?|(?:api|access|private)[ -]key|token|"
    r"pin(?:[ -](?:code|number|nummer))?|cv[vc]|(?:security|verification)[ -]code|contraseña|mot de passe)"
)
_VALUE_AFTER = re.compile(
    rf"(\b{_NAMED}(?: for \S+| für \S+)?)(\s*[:=]\s*|\s+(?:is|was|ist|war|lautet|est|es)[:=]?\s+|\s+)"
    r"(\"[^\"]+\"|'[^']+'|[^\s,;]+)",
    re.IGNORECASE,
)
_ORDINARY = re.compile(
    r"[a-zäöüßéèñ]+(?:ed|ing|en)|ge[a-zäöüß]+t|(?:a|an|the|my|your|in|on|at|to|for|of|and|or|not|no|never|always|only|too|so|"
    r"very|also|now|still|wrong|incorrect|invalid|valid|correct|right|weak|strong|long|short|empty|safe|secure|insecure|"
    r"lost|sent|kept|set|reset|old|new|ok|case|what|where|how|why|used|required|missing|unknown|public|private|secret|"
    r"nicht|kein|keine|falsch|richtig|ungültig|gültig|leer|alt|neu|zu|noch|schon|immer|nie|weg|unbekannt|sicher|unsicher)"
)
_SHAPED = re.compile(r"(?=[^\s]*\d)(?=[^\s]*[^\W\d])[^\s]{6,}|\d{4,8}")
_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@(?:[\w-]{1,63}\.){1,8}[^\W\d_]{2,24}\b")
_CARD = re.compile(r"(?<![\w-])\d(?:[ -]?\d){12,18}(?![\w-])")
_IBAN = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b", re.IGNORECASE)


def is_secret_name(name: str) -> bool:
    """Whether a flag, variable, header or query parameter of that name holds a secret."""
    words = [word.lower() for word in _WORD.findall(name)]
    return bool(words) and (bool(_SECRET_WORD.fullmatch(words[-1])) or words[-2:] == ["connection", "string"])


def secrets_in_url(url: str) -> Iterator[Secret]:
    """User, password and query of a URL, as written and decoded."""
    try:
        parts = urlsplit(url)
    except ValueError:  # not a URL that anything could be read from: hide all of it but the scheme
        yield "", url.partition("://")[2]
        return
    user, _, _ = parts.netloc.rpartition("@")
    for value in filter(None, user.split(":")):
        yield from (("", text) for text in {value, unquote(value)})
    for pair in filter(None, parts.query.split("&")):
        yield pair.partition("=")[0], pair.partition("=")[2]
    yield from parse_qsl(parts.query)


def secrets_in_words(words: Sequence[str]) -> Iterator[Secret]:
    """What looks like a secret in a command line: by its flag, by the userinfo of a URL, by the shape of a token."""
    flag = ""
    for word in words:
        name, equals, value = word.partition("=")
        header = _HEADER.fullmatch(word) if flag in _HEADER_FLAGS else None
        if header:
            yield from ((header[1], text) for text in (header[2], *header[2].split()))
        elif flag and is_secret_name(flag):
            yield flag.lstrip("-"), word
        elif equals and is_secret_name(name):
            yield name.lstrip("-"), value
        for url in _URL.findall(word):
            yield from (secret for secret in secrets_in_url(url) if not secret[0] or is_secret_name(secret[0]))
        yield from (("", found) for found in _TOKEN.findall(word))
        flag = word if word.startswith("-") and not equals else ""


def redact_words(words: Sequence[str]) -> list[str]:
    """A command line, word by word, without what looks like a secret; a ${VARIABLE} is only a name."""
    secrets = [secret for secret in secrets_in_words(words) if "${" not in secret[1]]
    values = {value for name, value in secrets if name}
    shown = []
    for word in words:
        name, equals, value = word.partition("=")
        if word in values or (equals and value in values):
            word = f"{name}={HIDDEN}" if equals and value in values else HIDDEN
        shown.append(redact(word, secrets))
    return shown


def hide(*values: str | None) -> None:
    """Let `redact` remove these values from every text from now on."""
    _always.update(value for value in values if value)


def redact(text: str, secrets: Iterable[Secret] = ()) -> str:
    """The text without these secrets, without those of `hide`, without the userinfo of URLs, and without what has the
    shape of a known token."""
    return _TOKEN.sub(HIDDEN, _USERINFO.sub(rf"\g<1>{HIDDEN}@", replace_values(text, secrets)))


def replace_values(text: str, secrets: Iterable[Secret]) -> str:
    """The text without these secrets and without those of `hide`; all else stays as it is."""
    known = {(name, value) for name, value in secrets if value} | {("", value) for value in _always}
    for value in sorted({value for _, value in known if len(value) >= SHORTEST}, key=len, reverse=True):
        text = text.replace(value, HIDDEN)
    for name, value in sorted(known):
        if name and len(value) < SHORTEST and name in text:
            text = re.sub(rf"({re.escape(name)}[\s\"'=:,+-]{{1,40}}){re.escape(value)}(?!\w)", rf"\g<1>{HIDDEN}", text)
    return text


def redact_query(query: str) -> str:
    """A query without secrets and without what identifies a person: the value that follows a word such as "password",
    card numbers, IBANs and e-mail addresses, besides what `redact` hides."""
    text = redact(query, secrets_in_words(query.split()))
    text = _VALUE_AFTER.sub(_hide_value, text)
    text = _IBAN.sub(lambda match: HIDDEN if _is_iban(match[0]) else match[0], text)
    text = _CARD.sub(lambda match: HIDDEN if _is_card(match[0]) else match[0], text)
    return _EMAIL.sub(HIDDEN, text)


def redact_data(data: Any, name: str = "") -> Any:
    """JSON data without what `redact_query` hides, and without the values of names such as "password"."""
    if isinstance(data, dict):
        return {redact_query(key): redact_data(value, key) for key, value in data.items()}
    if isinstance(data, list):
        return [redact_data(item, name) for item in data]
    if data is None or isinstance(data, bool):
        return data
    text = HIDDEN if is_secret_name(name) else redact_query(str(data))
    return text if isinstance(data, str) or text != str(data) else data


def _hide_value(match: re.Match[str]) -> str:
    name, link, value = match.groups()
    bare = value.strip("\"'.!?")
    if not link.strip():  # no "is", no colon
        is_value = bool(_SHAPED.fullmatch(bare))
    else:
        is_value = link.strip()[-1] in ":=" or not _ORDINARY.fullmatch(bare)
    return f"{name}{link}{HIDDEN}" if is_value else match[0]


def _is_card(text: str) -> bool:
    """Whether the digits have the check digit of a payment card (Luhn)."""
    digits = [int(digit) for digit in text if digit.isdigit()][::-1]
    total = sum(digits[::2]) + sum(sum(divmod(2 * digit, 10)) for digit in digits[1::2])
    return total % 10 == 0


def _is_iban(text: str) -> bool:
    """Whether the check digits of an account number are right (ISO 13616)."""
    plain = text.replace(" ", "").upper()
    return int("".join(str(int(letter, 36)) for letter in plain[4:] + plain[:4])) % 97 == 1
