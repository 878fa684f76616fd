"""The lab on this machine alone: loopback, a secret in the address, no foreign page may ask."""

from __future__ import annotations

import ctypes
import json
import secrets
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from featavg.errors import InputError, reason
from featavg.lab.page import live_page, policy
from featavg.lab.setting import Setting, setting_from
from featavg.lab.states import state
from featavg.robustness import Budget

PORT = 8765
TRIED = 50  # ports from the wanted one on
LARGEST = 10_000  # bytes of a setting
DRAG = Budget(seconds=1.0, wall=2.0)  # nobody is kept waiting; what is then open is drawn as a band


class Lab:
    """A server of the lab's page; `serve` runs until it is stopped.

    >>> lab = Lab(port=0)
    >>> lab.address.startswith("http://127.0.0.1:")
    True
    >>> lab.close()
    """

    def __init__(self, port: int = PORT) -> None:
        self.token = secrets.token_urlsafe(16)
        self._server = _listen(port)
        self._server.lab = self
        self.port = int(self._server.server_address[1])
        self._page = live_page().encode()
        # One thread computes, whoever asks: caches and warnings are shared, and threads keep memory of their own.
        self._one = ThreadPoolExecutor(1)

    @property
    def address(self) -> str:
        """Where the page is; whoever has it may ask."""
        return f"http://127.0.0.1:{self.port}/{self.token}/"

    @property
    def hosts(self) -> tuple[str, str]:
        """What a request for this server says in its Host."""
        return f"127.0.0.1:{self.port}", f"localhost:{self.port}"

    def answer(self, body: bytes) -> dict[str, Any]:
        """The state of the setting in `body`, or a sentence on why there is none."""
        try:
            setting = setting_from(json.loads(body))
            return self._one.submit(_computed, setting).result()
        except InputError as error:
            return {"impossible": str(error)}
        except (ValueError, RecursionError) as error:
            return {"impossible": f"that is no setting ({reason(error)})"}
        except MemoryError:
            return {"impossible": "this setting does not fit into memory; lower the training points"}

    def serve(self) -> None:
        """Answer until `close` is called."""
        self._server.serve_forever()

    def close(self) -> None:
        """Stop listening."""
        self._server.server_close()
        self._one.shutdown()

    def stop(self) -> None:
        """End `serve`, from another thread."""
        self._server.shutdown()
        self.close()


def _computed(setting: Setting) -> dict[str, Any]:
    """The state of a setting; what it needed is given back after it, which glibc would keep in ever more pieces."""
    found = state(setting, DRAG)
    with suppress(OSError, AttributeError):  # another C library keeps its own house
        ctypes.CDLL(None).malloc_trim(0)
    return found


def _listen(port: int) -> _Server:
    if not 0 <= port < 65536 - TRIED:
        raise InputError(f"a port lies between 0 and {65535 - TRIED}, got {port}")
    for place in range(port, port + TRIED):
        try:
            return _Server(("127.0.0.1", place), _Handler)
        except OSError:  # somebody else has it
            continue
    raise InputError(f"the ports {port} to {port + TRIED - 1} are all taken; choose another with --port")


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = False  # a taken port must fail
    lab: Lab


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    server_version, sys_version = "featavg", ""
    timeout = 60

    def do_GET(self) -> None:
        """The page."""
        if not self._allowed(""):
            return
        self._send(200, self.server.lab._page, "text/html; charset=utf-8")

    def do_POST(self) -> None:
        """A state."""
        if not self._allowed("state"):
            return
        length = self.headers.get("Content-Length", "")
        if self.headers.get("Content-Type") != "application/json" or not length.isdecimal() or int(length) > LARGEST:
            self._send(400, b"a setting is sent as JSON of at most 10000 bytes\n")
            return
        found = self.server.lab.answer(self.rfile.read(int(length)))
        self._send(200, json.dumps(found, allow_nan=False).encode(), "application/json")

    def _allowed(self, what: str) -> bool:
        """Whether the request is from our own page: a foreign name for this machine, or a foreign page, is refused."""
        lab, host = self.server.lab, self.headers.get("Host", "")
        origin = self.headers.get("Origin")
        if host not in lab.hosts or (origin is not None and origin not in {f"http://{name}" for name in lab.hosts}):
            self._send(403, b"only the lab's own page may ask\n")
            return False
        wanted = f"/{lab.token}/{what}"
        if not secrets.compare_digest(self.path.encode(), wanted.encode()):
            self._send(404, b"nothing here; open the address that `featavg lab` printed\n")
            return False
        return True

    def _send(self, code: int, content: bytes, kind: str = "text/plain; charset=utf-8") -> None:
        self.send_response(code)
        headers = {
            "Content-Type": kind,
            "Content-Length": str(len(content)),
            "Content-Security-Policy": policy("'self'") + "; frame-ancestors 'none'",
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Cache-Control": "no-store",
        }
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Say nothing: the terminal is for people."""
