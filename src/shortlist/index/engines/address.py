"""The address of an engine, and the credentials for it: opensearch+http://host:9200,other:9200/prefix?shards=3

User and password may precede the hosts; they are never stored or shown. Credentials that a program signed in with are
sent only over https or to this machine, and only to clusters that the user named.
"""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import parse_qsl, unquote, urlencode

from shortlist.errors import InputError

log = logging.getLogger("shortlist")

SCHEMES = tuple(f"{dialect}+{scheme}://" for dialect in ("opensearch", "elasticsearch") for scheme in ("http", "https"))
TIMEOUT = 30.0  # seconds
PREFIX = "shortlist"

_URL = re.compile(r"(opensearch|elasticsearch)\+(https?)://(?:([^/?#]*)@)?([^/?#@]+)(/[^?#]*)?(?:\?([^#]*))?")
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::(\d{1,5}))?")
_PREFIX = re.compile(r"[a-z0-9][a-z0-9._-]{0,80}")
_LOOPBACK = re.compile(r"localhost|127\.[0-9.]+|\[::1\]")


@dataclass(frozen=True, slots=True)
class Credentials:
    """A user, and a file with certificates to trust in addition to the usual ones."""

    user: str = ""
    password: str = ""
    certificate: str = ""

    def __repr__(self) -> str:
        return f"Credentials(user={self.user!r})"


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
    """A cluster, and the prefix of everything that is ours in it."""

    dialect: str
    scheme: str
    hosts: tuple[str, ...]
    prefix: str = PREFIX
    shards: int = 1
    replicas: int | None = None  # as many as there are nodes for, up to one
    timeout: float = TIMEOUT
    credentials: Credentials = Credentials()
    trusted: bool = field(default=True, compare=False)  # whether the user named it, not a file from somewhere

    @classmethod
    def parse(cls, url: str) -> Address:
        match = _URL.fullmatch(url.strip()) if isinstance(url, str) else None
        if match is None:
            shown = re.sub(r"//[^/@]*@", "//***@", str(url))
            raise InputError(
                f"An engine is an address such as opensearch+http://localhost:9200/shortlist, beginning with one of "
                f"{', '.join(SCHEMES)}; not {shown!r}."
            )
        dialect, scheme, who, hosts, path, query = match.groups()
        given = dict(parse_qsl(query or "", keep_blank_values=True))
        unknown = given.keys() - {"shards", "replicas", "timeout"}
        if unknown:
            raise InputError(f"An engine's address takes shards, replicas and timeout, not {min(unknown)!r}.")
        user, _, password = (who or "").partition(":")
        prefix = (path or "").strip("/") or PREFIX
        if not _PREFIX.fullmatch(prefix):
            raise InputError(
                f"The prefix in an engine's address is made of small letters, digits, dots, dashes and underscores, "
                f"and begins with a letter or digit; not {prefix!r}."
            )
        return cls(
            dialect,
            scheme,
            tuple(_parse_host(host) for host in hosts.split(",")),
            prefix,
            int(_parse_number(given, "shards", 1, 1, 1024)),
            int(_parse_number(given, "replicas", 0, 0, 100)) if "replicas" in given else None,
            _parse_number(given, "timeout", TIMEOUT, 0.01, 3600),
            Credentials(unquote(user), unquote(password)),
        )

    def __str__(self) -> str:
        """The address without secrets, as it is stored and shown."""
        options: dict[str, Any] = {
            "shards": self.shards if self.shards != 1 else None,
            "replicas": self.replicas,
            "timeout": f"{self.timeout:g}" if self.timeout != TIMEOUT else None,
        }
        query = urlencode({name: value for name, value in options.items() if value is not None})
        return f"{self.dialect}+{self.scheme}://{','.join(self.hosts)}/{self.prefix}{'?' if query else ''}{query}"

    __repr__ = __str__

    @property
    def urls(self) -> list[str]:
        return [f"{self.scheme}://{host}" for host in self.hosts]

    def signed_in(self, given: Credentials) -> Address:
        """The address with these credentials, if it names no user and no one else could read them."""
        if self.credentials.user:
            return replace(self, credentials=replace(self.credentials, certificate=given.certificate))
        if not self.trusted:
            if given.user:
                log.warning(
                    "The user %r and the password are not sent to %s: only a file outside the data folder names this "
                    "cluster. To trust it, name it once yourself, with --engine or engine=.", given.user, self
                )  # fmt: skip
            return replace(self, credentials=Credentials(certificate=given.certificate))
        is_private = self.scheme == "https" or all(_LOOPBACK.fullmatch(host.rpartition(":")[0]) for host in self.hosts)
        return replace(self, credentials=given) if is_private else self


def _parse_host(text: str) -> str:
    match = _HOST.fullmatch(text.strip())
    if match is None or (match[2] and not 0 < int(match[2]) < 65536):
        raise InputError(f"{text.strip()!r} is no host with a port, such as localhost:9200.")
    return f"{match[1]}:{match[2] or 9200}"


def _parse_number(given: dict[str, str], name: str, default: float, least: float, most: float) -> float:
    try:
        value = float(given.get(name, default))
    except ValueError:
        value = -1.0
    if not least <= value <= most:
        raise InputError(f"{name} in an engine's address is a number from {least:g} to {most:g}, not {given[name]!r}.")
    return value
