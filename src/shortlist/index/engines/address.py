"""The address of a cluster, and the credentials for it: opensearch+http://host:9200,other:9200/prefix?shards=3

User and password may precede the hosts; they are never stored or shown. Credentials from `sign_in` are sent only over
https or to this machine. Nothing is sent to a cluster that only a foreign folder names.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import parse_qsl, unquote, urlencode

from shortlist._http import is_loopback
from shortlist.errors import InputError

SCHEMES = tuple(f"{dialect}+{scheme}://" for dialect in ("opensearch", "elasticsearch") for scheme in ("http", "https"))
TIMEOUT = 30.0  # seconds
PREFIX = "shortlist"

_URL = re.compile(r"(opensearch|elasticsearch)\+(https?)://(?:([^/?#]*)@)?([^/?#@]+)(/[^?#]*)?(?:\?([^#]*))?")
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::(\d{1,5}))?")
_PREFIX = re.compile(r"[a-z0-9][a-z0-9._-]{0,80}")
_OPTIONS = {"shards": (1, 1024), "replicas": (0, 100), "timeout": (0.01, 3600)}  # each with its range


@dataclass(frozen=True, slots=True)
class Credentials:
    """A user, and a file with certificates to trust in addition to the usual ones."""

    user: str = ""
    password: str = field(default="", repr=False)
    certificate: str = field(default="", repr=False)


@dataclass(slots=True)
class SignIn:
    """The credentials for clusters whose address names no user, looked up when a corpus is opened by its name."""

    credentials: Credentials = Credentials()


PROCESS = SignIn()  # used by `location`; `Address` and everything that sends requests get credentials passed


def sign_in(user: str = "", password: str = "", certificate: str = "") -> None:
    """Use these credentials for engines whose address names no user, from now on, in this process."""
    PROCESS.credentials = Credentials(user, password, certificate)


@dataclass(frozen=True, slots=True)
class Address:
    """A cluster, and the prefix of the names of our indices in it."""

    dialect: str
    scheme: str
    hosts: tuple[str, ...]
    prefix: str = PREFIX
    shards: int = 1
    replicas: int | None = None  # None: one if there are two nodes
    timeout: float = TIMEOUT
    credentials: Credentials = Credentials()
    trusted: bool = field(default=True, compare=False)  # whether the user named it, not a file from elsewhere

    @classmethod
    def parse(cls, url: str) -> Address:
        match = _URL.fullmatch(url.strip()) if isinstance(url, str) else None
        if match is None:
            shown = re.sub(r"//[^/@]*@", "//***@", str(url))
            raise InputError(
                f"{shown!r} is not the address of an engine. Use an address such as "
                f"opensearch+http://localhost:9200/shortlist that begins with {', '.join(SCHEMES)}."
            )
        dialect, scheme, login, hosts, path, query = match.groups()
        prefix = (path or "").strip("/") or PREFIX
        if not _PREFIX.fullmatch(prefix):
            raise InputError(
                f"{prefix!r} is not a valid prefix in the address of an engine. Use lowercase letters, digits, dots, "
                f"dashes and underscores, and begin with a letter or digit."
            )
        user, _, password = (login or "").partition(":")
        options: dict[str, Any] = dict(_parse_option(*pair) for pair in parse_qsl(query or "", keep_blank_values=True))
        credentials = Credentials(unquote(user), unquote(password))
        return cls(
            dialect, scheme, tuple(map(_parse_host, hosts.split(","))), prefix, credentials=credentials, **options
        )

    def __str__(self) -> str:
        """The address without secrets, as it is stored and shown."""
        defaults = {"shards": 1, "replicas": None, "timeout": TIMEOUT}
        given = {name: getattr(self, name) for name in defaults}
        query = urlencode({name: f"{value:g}" for name, value in given.items() if value != defaults[name]})
        return f"{self.dialect}+{self.scheme}://{','.join(self.hosts)}/{self.prefix}{'?' if query else ''}{query}"

    __repr__ = __str__

    @property
    def urls(self) -> list[str]:
        return [f"{self.scheme}://{host}" for host in self.hosts]

    def with_credentials(self, given: Credentials) -> Address:
        """The address with these credentials, if it names no user and no one else could read them."""
        if self.credentials.user:
            return replace(self, credentials=replace(self.credentials, certificate=given.certificate))
        is_local = all(is_loopback(host.rpartition(":")[0].strip("[]")) for host in self.hosts)
        return replace(self, credentials=given) if is_local or self.scheme == "https" else self


def _parse_host(text: str) -> str:
    match = _HOST.fullmatch(text.strip())
    if match is None or (match[2] and not 0 < int(match[2]) < 65536):
        raise InputError(f"{text.strip()!r} is not a valid host. Use a name and a port, such as localhost:9200.")
    return f"{match[1]}:{match[2] or 9200}"


def _parse_option(name: str, text: str) -> tuple[str, float]:
    if name not in _OPTIONS:
        raise InputError(f"{name!r} is not an option of an engine's address. The options are {', '.join(_OPTIONS)}.")
    least, most = _OPTIONS[name]
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not least <= value <= most:
        raise InputError(f"{text!r} is not valid for {name} of an engine's address: use {least:g} to {most:g}.")
    return name, value if name == "timeout" else int(value)
