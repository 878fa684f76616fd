"""The server answers its own page alone, on this machine alone."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Iterator

import pytest

from featavg import Budget
from featavg.lab import Lab, Setting, setting_from, state

SMALL = {"clusters": 4, "dim": 10**6, "samples": 50, "steps": 10, "neurons": 4}


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("featavg.lab.server.DRAG", Budget())  # a busy machine must not leave points open
        one = Lab(port=0)
        thread = threading.Thread(target=one.serve)
        thread.start()
        yield one
        one.stop()
        thread.join()


def ask(lab: Lab, method: str, path: str, body: str | None = None, **headers: str) -> tuple[int, bytes, dict[str, str]]:
    connection = http.client.HTTPConnection("127.0.0.1", lab.port, timeout=60)
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, body, {"Content-Type": "application/json", **names})
    answer = connection.getresponse()
    found = answer.status, answer.read(), dict(answer.getheaders())
    connection.close()
    return found


def test_a_state_from_the_server_is_the_librarys(lab: Lab) -> None:
    code, body, _ = ask(lab, "POST", f"/{lab.token}/state", json.dumps(SMALL), Origin=f"http://127.0.0.1:{lab.port}")
    found, expected = json.loads(body), json.loads(json.dumps(state(setting_from(SMALL))))
    assert code == 200
    assert {**found, "seconds": 0} == {**expected, "seconds": 0}


def test_foreign_hosts_origins_and_addresses_are_refused(lab: Lab) -> None:
    place = f"/{lab.token}/state"
    body = json.dumps(SMALL)
    assert ask(lab, "POST", place, body, Origin="http://evil.example")[0] == 403
    assert ask(lab, "POST", place, body, Origin="null")[0] == 403
    assert ask(lab, "POST", place, body, Host="evil.example")[0] == 403
    assert ask(lab, "GET", f"/{lab.token}/", Host=f"evil.example:{lab.port}")[0] == 403
    assert ask(lab, "GET", "/")[0] == 404
    assert ask(lab, "GET", "/wrong/")[0] == 404
    assert ask(lab, "GET", f"/{lab.token}/../lab.py")[0] == 404
    assert ask(lab, "GET", f"/{lab.token}/")[0] == 200


def test_it_listens_on_loopback_alone_and_tells_browsers_what_is_allowed(lab: Lab) -> None:
    assert lab._server.server_address[0] == "127.0.0.1"
    headers = ask(lab, "GET", f"/{lab.token}/")[2]
    assert headers["Content-Security-Policy"].startswith("default-src 'none'")
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert "Access-Control-Allow-Origin" not in headers


@pytest.mark.parametrize("body", ["{", "[]", '{"clusters": "many"}', '{"clusters": 1e999}', "[" * 5000, "NaN"])
def test_nonsense_is_answered_by_a_sentence(lab: Lab, body: str) -> None:
    code, found, _ = ask(lab, "POST", f"/{lab.token}/state", body)
    assert code == 200
    assert "Traceback" not in json.loads(found)["impossible"]


def test_large_or_untyped_bodies_are_refused(lab: Lab) -> None:
    place = f"/{lab.token}/state"
    assert ask(lab, "POST", place, "x" * 20_000)[0] == 400
    assert ask(lab, "POST", place, "{}", Content_Type="text/plain")[0] == 400


def test_a_taken_port_is_followed_by_the_next_free_one() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        taken = other.getsockname()[1]
        if taken > 65000:
            return  # nothing lies above
        second = Lab(taken)
        assert taken < second.port
        second.close()


def test_a_setting_has_the_papers_numbers_by_default() -> None:
    assert setting_from({}) == Setting()
    assert (Setting().eta, Setting().scale) == (pytest.approx(1e-3), pytest.approx(1e-5))
