"""What the dashboard's server takes and refuses, without a browser and without Solara."""

import asyncio
import socket

import pytest

from learning.errors import InputError
from scenarios.dashboard.serve import ONLY_HERE, address, listening, only_here


def test_a_free_port_is_found_and_a_taken_one_is_refused_in_one_line():
    first = listening("127.0.0.1", 0)
    with first:
        port = first.getsockname()[1]
        assert address(first, "127.0.0.1") == f"http://127.0.0.1:{port}/"
        with pytest.raises(InputError, match=f"--port: must be a port that is free; found 127.0.0.1:{port}, address"):
            listening("127.0.0.1", port)


def test_a_host_that_is_nobody_s_is_refused(monkeypatch):
    def unknown(*_, **__):
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(InputError, match="--host: must be an address of this machine"):
        listening("nowhere.invalid", 0)


async def page(scope, receive, send):
    """A page of some program."""
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"here"})


def called(kind="http", **headers):
    """What is sent to whoever calls with some headers."""
    sent = []

    async def call():
        async def receive():
            return {"type": f"{kind}.connect"}

        async def send(message):
            sent.append(message)

        pairs = [(key.encode(), value.encode()) for key, value in headers.items()]
        await only_here(page)({"type": kind, "headers": pairs}, receive, send)

    asyncio.run(call())
    return sent


def test_every_page_tells_the_browser_to_load_nothing_from_elsewhere():
    headers = dict(called(host="127.0.0.1:8765")[0]["headers"])
    assert headers[b"content-security-policy"].decode() == ONLY_HERE
    assert "default-src 'self'" in ONLY_HERE and "http" not in ONLY_HERE


def test_calls_of_other_pages_are_refused():
    own = {"host": "127.0.0.1:8765", "origin": "http://127.0.0.1:8765"}
    assert called(**own)[0]["status"] == 200
    assert called(**own | {"origin": "https://elsewhere.example"})[0]["status"] == 403
    assert called("websocket", **own | {"origin": "https://elsewhere.example"}) == [
        {"type": "websocket.close", "code": 1008}
    ]
