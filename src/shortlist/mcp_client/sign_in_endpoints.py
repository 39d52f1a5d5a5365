"""Checks the URLs of a sign-in before anything is sent to them: metadata, registration, tokens and revocation.

The server and its authorization server choose them, so they could name a service that only this machine can reach.
RFC 9728 (7.7) and the MCP specification ask clients to block requests to internal addresses. An authorization server on
another host is usual and allowed.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from urllib.parse import urlsplit

from shortlist._http import is_loopback
from shortlist._text import printable
from shortlist.errors import SourceError

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_NAT64 = ipaddress.ip_network("64:ff9b::/96")
# The kinds of addresses that a server at an address of some kind may lead to, besides public ones.
_REACHABLE = {
    "loopback": {"loopback", "private"},
    "private": {"private"},
    "link-local": {"link-local"},
    "public": set[str](),
}


def origin_of(url: str) -> tuple[str, str, int | None]:
    parts = urlsplit(url)
    return parts.scheme, parts.hostname or "", parts.port or {"http": 80, "https": 443}.get(parts.scheme)


def check_metadata_url(name: str, server_url: str, url: str) -> None:
    """A server describes itself at its own origin: anything else is a place that it has no say in."""
    if origin_of(url) != origin_of(server_url):
        raise SourceError(
            f"The sign-in to {name} was stopped: its metadata (resource_metadata) must be at {_show(server_url)}, "
            f"not at {_show(url)}. Nothing was sent there. Report it to the operator of {name}."
        )


async def check_endpoint(name: str, server_url: str, url: str) -> None:
    """Raise `SourceError` unless a URL uses https and leads to a public address.

    Addresses of this machine or of its network are allowed if the server is at one itself. A name must not have any
    other address. What a name means may change before the request; the certificate is then of another host.
    """
    host, server_host = urlsplit(url).hostname or "", urlsplit(server_url).hostname or ""
    if urlsplit(url).scheme != "https" and not (is_loopback(host) and is_loopback(server_host)):
        raise SourceError(f"The sign-in to {name} is not encrypted: {_show(url)} must use https.")
    if host == server_host:
        return
    kinds = {_kind_of(address) for address in await _resolve(host)}
    allowed = {"public"}.union(*(_REACHABLE[_kind_of(address)] for address in await _resolve(server_host)))
    if not kinds <= allowed:
        kind = min(kinds - allowed)
        raise SourceError(
            f"The sign-in to {name} was stopped: it leads to {_show(url)}, a {kind} address, but {name} is not at one. "
            f"Nothing was sent there. Report it to the operator of {name}."
        )


async def _resolve(host: str) -> list[Address]:
    """All addresses of a host; none if it cannot be resolved, as behind a proxy."""
    try:
        return [ipaddress.ip_address(host)]
    except ValueError:
        pass
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return []
    return [ipaddress.ip_address(str(entry[4][0]).partition("%")[0]) for entry in found]


def _kind_of(address: Address) -> str:
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if address in _NAT64:
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if inner:
            return _kind_of(inner)
    if address.is_loopback or address.is_unspecified:
        return "loopback"
    if address.is_link_local:
        return "link-local"
    return "public" if address.is_global and not address.is_multicast else "private"


def _show(url: str) -> str:
    """The origin of a URL, safe to print."""
    parts = urlsplit(url)
    return printable(f"{parts.scheme}://{parts.hostname}" + (f":{parts.port}" if parts.port else ""), "?")
