"""Server of the dashboard: a port of its own, pages that load nothing from elsewhere."""

from __future__ import annotations

import os
import re
import socket
import tempfile
import threading
import warnings
import webbrowser
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from ipaddress import ip_address
from typing import Any
from urllib.request import urlopen

from learning.errors import InputError

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
NOWHERE = "http://127.0.0.1:9/"  # source of files that are not here: nobody answers there
LOOPBACK = ("localhost", "127.0.0.1", "::1")
EVERYWHERE = ("0.0.0.0", "::", "")
HOST = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[^][:@/\s]+)(:[0-9]{1,5})?")
GRACE = 1  # seconds that open pages have once the server ends
# The browser itself refuses whatever is not from here.
ONLY_HERE = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:; style-src 'self' "
    "'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self' data:; connect-src 'self' blob:; frame-ancestors "
    "'none'; form-action 'none'"
)
SETTINGS = {
    "SOLARA_APP": "scenarios.dashboard.pages.market",
    "SOLARA_MODE": "production",
    "SOLARA_TELEMETRY_MIXPANEL_ENABLE": "False",
    "SOLARA_ASSETS_CDN": NOWHERE,
    "SOLARA_ASSETS_PROXY": "True",
    "SOLARA_ASSETS_FONTAWESOME_ENABLED": "False",
    "SOLARA_THEME_LOADER": "plain",
    "SOLARA_THEME_SHOW_BANNER": "False",
}


def listening(host: str, port: int) -> socket.socket:
    """Open a socket that listens; port 0 is any that is free.

    Raises
    ------
    InputError
        If the host is not this machine's, or the port is taken.
    """
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
    except socket.gaierror as error:
        raise InputError(
            "--host", "must be an address of this machine", host, "Leave it out."
        ) from error
    made = socket.socket(family)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host, port))
        made.listen()
    except OSError as error:
        made.close()
        found = f"{host}:{port}, {(error.strerror or str(error)).lower()}"
        remedy = "Give another, or 0 for any that is free."
        raise InputError("--port", "must be a port that is free", found, remedy) from error
    return made


def address(made: socket.socket, host: str) -> str:
    """Address of the page for a browser."""
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{made.getsockname()[1]}/"


def serve(app: App, made: socket.socket, url: str, told: str, *, browser: bool) -> None:
    """Show what `scenarios.dashboard.screen.put_up` was given until Ctrl-C.

    Parameters
    ----------
    app: what `application` gave.
    made: a socket that listens.
    url: where the page is.
    told: what is printed once it is there.
    browser: whether to open it in a browser.
    """
    import uvicorn

    config = uvicorn.Config(
        app,
        log_level="error",
        timeout_graceful_shutdown=GRACE,
        ws_per_message_deflate=False,
        access_log=False,
    )
    threading.Thread(target=_ready, args=(url, told, browser), daemon=True).start()
    uvicorn.Server(config).run(sockets=[made])


def _ready(url: str, told: str, browser: bool) -> None:
    """Ask for the page once, which makes it quick for the next; then say that it is there."""
    with suppress(OSError):  # the server ended meanwhile
        with urlopen(url) as page:
            page.read()
        print(told, flush=True)
        if browser:
            webbrowser.open(url)


def application(host: str) -> App:
    """Make a program of the pages, for browsers that name ``host`` or this machine."""
    home = tempfile.mkdtemp(prefix="dpmarket-")  # Solara keeps files at home otherwise
    os.environ.update(SETTINGS | {"SOLARA_HOME": home})
    warnings.filterwarnings("ignore", message="Cookies with samesite=none")
    from solara.server import starlette

    return only_here(starlette.app, host)


def only_here(app: App, host: str) -> App:
    """Make a program answer its own pages alone, and its pages load nothing from elsewhere.

    A call is refused whose Host header names neither this machine nor ``host``, as after DNS
    rebinding, where the name of another site leads to this machine; and one whose Origin is not
    that Host.
    """

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await app(scope, receive, send)
            return
        headers = {
            key.decode("latin1").lower(): value.decode("latin1") for key, value in scope["headers"]
        }
        if not is_own_call(headers.get("host", ""), headers.get("origin", ""), host):
            await _refuse(scope, receive, send)
            return

        async def telling(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                own = [
                    (b"content-security-policy", ONLY_HERE.encode()),
                    (b"referrer-policy", b"no-referrer"),
                ]
                message["headers"] = [*message.get("headers", []), *own]
            await send(message)

        await app(scope, receive, telling)

    return guarded


def is_own_call(called: str, origin: str, host: str) -> bool:
    """Test whether a call is addressed to this server, and comes from no page but its own.

    Parameters
    ----------
    called: the Host header, with or without a port.
    origin: the Origin header; empty where there is none.
    host: the address that the server was asked to serve on. Where that means every address of this
        machine, a call may name any number, since DNS rebinding needs a name; and this machine's
        own name.

    >>> is_own_call("localhost:8765", "http://localhost:8765", "127.0.0.1")
    True
    >>> is_own_call("evil.example:8765", "http://evil.example:8765", "127.0.0.1")
    False
    """
    parts = HOST.fullmatch(called.lower())
    if parts is None:
        return False
    if origin and origin.lower().partition("://")[2] != called.lower():
        return False
    name = parts["name"].strip("[]")
    if name in (*LOOPBACK, host.lower()):
        return True
    return host in EVERYWHERE and (_is_number(name) or name == socket.gethostname().lower())


def _is_number(name: str) -> bool:
    """Test for an IP address."""
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


async def _refuse(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1008})
        return
    await send({"type": "http.response.start", "status": 403, "headers": []})
    body = b"This page answers calls to its own address only."
    await send({"type": "http.response.body", "body": body})
