"""The address of a service, and the token that may be sent to it.

An address in a command or a call is the user's choice; queries are sent to it. The token in SHORTLIST_TOKEN belongs to
one service, so it is sent only to this machine, or to an origin that the user confirmed (`shortlist trust ADDRESS`).
Plain http to other machines needs the same.
"""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from shortlist._environment import read_variable
from shortlist._http import is_loopback
from shortlist._paths import config_dir
from shortlist.errors import InputError
from shortlist.safety.confirmations import Confirmation

SCHEMES = ("http://", "https://")
TOKEN = "SHORTLIST_TOKEN"

_LOGIN = re.compile(r"//[^/@]*@")


class ServiceAddress(NamedTuple):
    """The origin of a service, and the path below it."""

    origin: str
    path: str

    @property
    def is_local(self) -> bool:
        return is_loopback(urlsplit(self.origin).hostname or "")

    @property
    def choices(self) -> list[tuple[str, str]]:
        """The address of the service and the name of the corpus, by how much of the path is the name.

        The whole path comes first: a prefix of the service and a name with slashes look the same.
        """
        parts = self.path.strip("/").split("/")
        bases = ["/".join([self.origin, *parts[:at]]) for at in range(len(parts))]
        return [(base, unquote("/".join(parts[at:]))) for at, base in enumerate(bases)]


def is_service_address(name: object) -> bool:
    """Whether the name of a corpus is the address of one behind a service."""
    return isinstance(name, str) and name.startswith(SCHEMES)


def parse_address(url: str, *, allow_http: bool = False) -> ServiceAddress:
    """The parts of an address; plain http to another machine is an error unless the caller or the user allows it."""
    shown = _LOGIN.sub("//***@", str(url))
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port is not None else ""
    except (ValueError, AttributeError) as error:
        raise InputError(f"{shown!r} is not the address of a service: {error}.") from None
    if not url.startswith(SCHEMES) or not parts.hostname:
        raise InputError(f"{shown!r} is not the address of a service. Use one such as http://127.0.0.1:9200.")
    if parts.username is not None:
        raise InputError(f"The address {shown!r} has a user or password. Leave it out and pass the token as token=.")
    if parts.query or parts.fragment:
        raise InputError(f"The address {shown!r} has a ? or #, which the address of a service cannot have.")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    address = ServiceAddress(f"{parts.scheme}://{host}{port}", parts.path.rstrip("/"))
    if parts.scheme == "http" and not (allow_http or address.is_local or confirmation_of(address).is_confirmed):
        raise InputError(
            f"{shown!r} is not encrypted: anyone on the way can read queries and the token. Use https:// or, if you "
            f"trust the network, allow it with allow_http=True or: shortlist trust {address.origin}"
        )
    return address


def confirmation_of(address: ServiceAddress) -> Confirmation:
    """What the user confirms so that SHORTLIST_TOKEN is sent to an origin, and plain http to it is allowed."""
    return Confirmation("service", config_dir(), address.origin)


def find_token(address: ServiceAddress, token: str | None) -> str:
    """The given token, or that of the environment if it may be sent to this address."""
    if token is not None:
        return token
    stored = read_variable(TOKEN)
    return stored if stored and (address.is_local or confirmation_of(address).is_confirmed) else ""
