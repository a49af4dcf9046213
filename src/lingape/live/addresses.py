"""Addresses of servers: which URLs a client takes, which hosts are this machine, which proxies."""

import ipaddress
from typing import Any
from urllib.parse import SplitResult, urlsplit
from urllib.request import getproxies, proxy_bypass

from ..errors import InvalidArgument


def loopback(host: str) -> bool:
    """Whether only this machine can reach an address.

    >>> loopback("127.0.0.1"), loopback("localhost"), loopback("0.0.0.0")
    (True, True, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def host_in_url(host: str) -> str:
    """Return an address as it is written in URLs.

    >>> host_in_url("127.0.0.1"), host_in_url("::1")
    ('127.0.0.1', '[::1]')
    """
    return f"[{host}]" if ":" in host else host


def checked_url(url: Any) -> SplitResult:
    """Return the parts of a server's URL, or raise InvalidArgument."""
    try:
        parts: SplitResult = urlsplit(url)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname)
        (parts.hostname or "").encode("idna")
        plain = parts.path.isascii() and (parts.port is None or parts.port > 0)
        valid &= plain and not any(sign <= " " or sign == "\x7f" for sign in url)
    except (ValueError, AttributeError, TypeError):
        valid = False
    if not valid:
        raise InvalidArgument(
            f"A server is given as http://HOST:PORT or https://HOST:PORT; got {url!r}."
        )
    if parts.username or parts.password or parts.query or parts.fragment:
        raise InvalidArgument(
            "A server's URL contains no password, query or fragment. Pass the token separately: "
            "token=... in Python, LINGAPE_WRITE_TOKEN in the shell."
        )
    return parts


def proxy_for(parts: SplitResult) -> str | None:
    """Return the URL of the proxy through which to call a server, or None to call it directly.

    As other programs do, it goes by the environment: http_proxy, https_proxy, all_proxy and
    no_proxy. Servers on this machine are called directly, as no proxy could reach them.
    """
    host, proxies = parts.hostname or "", getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if not proxy or loopback(host) or proxy_bypass(parts.netloc):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"
