"""What the dashboard's server takes and refuses, without a browser and without Solara."""

import asyncio
import os
import re
import signal
import socket
import subprocess
import sys
from importlib.util import find_spec

import pytest

from learning.errors import InputError
from scenarios.dashboard.serve import ONLY_HERE, address, listening, only_here


def test_a_free_port_is_found_and_a_taken_one_is_refused_in_one_line():
    first = listening("127.0.0.1", 0)
    with first:
        port = first.getsockname()[1]
        assert address(first, "127.0.0.1") == f"http://127.0.0.1:{port}/"
        with pytest.raises(
            InputError,
            match=f"--port: must be a port that is free; found 127.0.0.1:{port}, address",
        ):
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


def called(kind="http", at="127.0.0.1", **headers):
    """What is sent to whoever calls with some headers."""
    sent = []

    async def call():
        async def receive():
            return {"type": f"{kind}.connect"}

        async def send(message):
            sent.append(message)

        pairs = [(key.encode(), value.encode()) for key, value in headers.items()]
        await only_here(page, at)({"type": kind, "headers": pairs}, receive, send)

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


FOREIGN = [
    "evil.example",
    "evil.example:8765",
    "127.0.0.1.evil.example",
    "localhost.evil.example:8765",
    "",
    "10.0.0.7:8765",
]
FOREIGN += [
    "localhost@evil.example",
    "evil.example#localhost",
    "[::1].evil.example",
    "localhost:8765, evil.example",
    "::1",
]


@pytest.mark.parametrize("host", FOREIGN)
@pytest.mark.parametrize("kind", ["http", "websocket"])
def test_names_that_lead_here_by_another_site_are_refused(kind, host):
    """After DNS rebinding Host and Origin are both the other site's, and so agree."""
    for headers in ({"host": host}, {"host": host, "origin": f"http://{host}"}):
        first = called(kind, **headers)[0]
        assert first.get("status", 403) == 403 and first["type"] in (
            "http.response.start",
            "websocket.close",
        )


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1:8765", "[::1]:8765"])
def test_this_machine_is_served_under_each_of_its_names(host):
    assert called(host=host, origin=f"http://{host}")[0]["status"] == 200
    assert called(host=host, origin="null")[0]["status"] == 403


def test_the_address_that_was_asked_for_is_served_and_on_all_addresses_every_number():
    assert called(at="Market.example", host="market.example:80")[0]["status"] == 200
    assert called(at="10.0.0.7", host="10.0.0.7:80")[0]["status"] == 200
    assert called(at="10.0.0.7", host="10.0.0.8:80")[0]["status"] == 403
    for everywhere in ("0.0.0.0", "::"):
        assert called(at=everywhere, host="10.0.0.8:80")[0]["status"] == 200
        assert called(at=everywhere, host="[fe80::1]:80")[0]["status"] == 200
        assert called(at=everywhere, host=f"{socket.gethostname()}:80")[0]["status"] == 200
        assert called(at=everywhere, host="evil.example:80")[0]["status"] == 403


def answer_to(port, path, *headers):
    """The status line of the dashboard's answer to one call over a bare socket."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as made:
        made.sendall("\r\n".join([f"GET {path} HTTP/1.1", *headers, "", ""]).encode())
        return made.makefile("rb").readline().decode()


@pytest.mark.slow
@pytest.mark.browser  # which installs the extra app, and takes as long to start
@pytest.mark.skipif(
    not (find_spec("solara") and find_spec("uvicorn")), reason="needs the extra app"
)
def test_the_dashboard_takes_calls_to_its_own_address_alone(tmp_path):
    """As seen on the wire: pages, and the websocket by which a page could read and move the market."""
    command = [
        sys.executable,
        "-m",
        "scenarios.command.main",
        "dashboard",
        "three_insurers",
        "--no-browser",
        "--port=0",
    ]
    upgrade = ["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13"]
    upgrade += ["Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="]
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, env=environment, cwd=tmp_path, text=True
    ) as running:
        try:
            port = int(re.search(r"127\.0\.0\.1:(\d+)/", running.stdout.readline())[1])
            own = f"127.0.0.1:{port}"
            kernel = "11111111-1111-4111-8111-111111111111"
            socket_path = f"/jupyter/api/kernels/{kernel}/channels?session_id=x"
            assert " 200 " in answer_to(port, "/", f"Host: {own}")
            assert " 403 " in answer_to(port, "/", "Host: evil.example")
            for host, origin, status in (
                (own, own, " 101 "),
                ("evil.example", "evil.example", " 403 "),
                (f"evil.example:{port}", f"evil.example:{port}", " 403 "),
                (own, "evil.example", " 403 "),
            ):
                headers = [f"Host: {host}", f"Origin: http://{origin}", *upgrade]
                assert status in answer_to(port, socket_path, *headers), (host, origin)
        finally:
            running.send_signal(signal.SIGINT)
