"""What stands between a client and this server: its address outside, and the proxies that are believed."""

from __future__ import annotations

from ipaddress import ip_address, ip_network
from urllib.parse import urlsplit

from starlette.requests import HTTPConnection

from foja.engine.settings import Settings
from foja.errors import NotAllowed

LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})
_MARKS = ("forwarded", "via", "x-real-ip")


class Front:
    """The outside of a server."""

    def __init__(self, settings: Settings) -> None:
        self._url = settings.web_url.rstrip("/")
        names = settings.trusted_proxies.replace(",", " ").split()
        self.origins = settings.cors_origins.replace(",", " ").split()
        self._proxies = [ip_network(each, strict=False) for each in names]

    def origin(self, request: HTTPConnection) -> str:
        """Return the origin under which a client sees this server."""
        if self._url:
            parts = urlsplit(self._url)
            return f"{parts.scheme}://{parts.netloc}"
        scheme, host = request.url.scheme, request.headers.get("host", "")
        if self._is_proxy(request):
            scheme = _last(request, "x-forwarded-proto") or scheme
            host = _last(request, "x-forwarded-host") or host
        return f"{scheme}://{host}"

    def client(self, request: HTTPConnection) -> str:
        """Return the address of the client, as far as proxies are believed; empty if there is none."""
        peer = request.client.host if request.client else ""
        if self._is_proxy(request):
            for each in reversed(request.headers.get("x-forwarded-for", "").split(",")):
                if each.strip() and not self._trusts(each.strip()):
                    return each.strip()
        return peer

    def is_secure(self, request: HTTPConnection) -> bool:
        """Return whether the client uses HTTPS."""
        return self.origin(request).startswith("https://")

    def is_own(self, request: HTTPConnection, origin: str) -> bool:
        """Return whether an `Origin` is that of this server."""
        return origin == self.origin(request)

    def check_local(self, request: HTTPConnection) -> None:
        """Raise `NotAllowed` unless a request is sent on this machine, by no proxy and by no foreign page."""
        marks = sorted(name for name in request.headers if name in _MARKS or name.startswith("x-forwarded-"))
        if marks:
            raise NotAllowed(
                f"a proxy forwarded this request (`{marks[0]}`), and without keys everyone behind it would "
                "be administrator; make a key with `foja access create`"
            )
        origin = request.headers.get("origin")
        if origin is not None and not (self.is_own(request, origin) or origin in self.origins):
            raise NotAllowed("a page of another site sent this request; open the pages of this server")
        ends = [request.client.host if request.client else "", (request.scope.get("server") or ("",))[0]]
        if not all(map(is_loopback, ends)):
            raise NotAllowed("without keys only this machine is served; make one with `foja access create`")

    def _is_proxy(self, request: HTTPConnection) -> bool:
        return request.client is not None and self._trusts(request.client.host)

    def _trusts(self, host: str) -> bool:
        try:
            address = ip_address(host)
        except ValueError:
            return False
        return any(address in network for network in self._proxies)


def host_name(request: HTTPConnection) -> str:
    """Return the name of the host that a request asks, without its port."""
    host = request.headers.get("host", "")
    return host if host.endswith("]") else host.rpartition(":")[0] or host


def is_loopback(host: str) -> bool:
    """Return whether an address is reachable from this machine only."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _last(request: HTTPConnection, name: str) -> str:
    """Return what the nearest proxy said; those before it are written by the client."""
    return request.headers.get(name, "").rpartition(",")[2].strip()
