"""A headless Chromium, driven through its own pipe: nothing to install but the browser."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import os
import shutil
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), ""
)
FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--mute-audio")
PATIENCE = 60.0


class Browser:
    """One page: go somewhere, run script in it, look at it; errors and requests are kept."""

    def __init__(self, folder: Path, size: tuple[int, int] = (1360, 1000)) -> None:
        # Chromium reads commands from file descriptor 3 and writes to 4, each message ended by a zero byte.
        read, self._out = os.pipe()
        self._in, write = os.pipe()
        flags = [*FLAGS, "--remote-debugging-pipe", f"--user-data-dir={folder}", f"--window-size={size[0]},{size[1]}"]
        script = f'exec 3<&{read} 4>&{write}; exec "$0" "$@"'
        self._process = subprocess.Popen(
            ["bash", "-c", script, CHROMIUM, *flags, "about:blank"],
            pass_fds=(read, write),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(read)
        os.close(write)
        self._number, self._rest, self._session = 0, b"", ""
        self.errors: list[str] = []
        self.requests: list[str] = []
        page = next(one for one in self.ask("Target.getTargets")["targetInfos"] if one["type"] == "page")
        self._session = self.ask("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._out)
        self._process.terminate()
        self._process.wait(timeout=10)
        os.close(self._in)

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        session = {"sessionId": self._session} if self._session else {}
        message = {"id": self._number, "method": method, "params": parameters, **session}
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while (found := self._next()).get("id") != self._number:
            self._note(found)
        assert "error" not in found, found
        return found["result"]

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            more = os.read(self._in, 1 << 20)
            assert more, "the browser ended"
            self._rest += more
        message, self._rest = self._rest.split(b"\0", 1)
        return json.loads(message)

    def _note(self, event: dict[str, Any]) -> None:
        method, about = event.get("method", ""), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.errors.append(json.dumps(about["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and about["type"] in ("error", "warning"):
            self.errors.append(json.dumps(about["args"]))
        elif method == "Log.entryAdded" and about["entry"]["level"] == "error":
            self.errors.append(about["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(about["request"]["url"])

    def run(self, script: str) -> Any:
        """The value of an expression in the page."""
        found = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def until(self, script: str) -> Any:
        """Wait until an expression is true, and return it."""
        ends = time.monotonic() + PATIENCE
        while not (value := self.run(script)):
            assert time.monotonic() < ends, f"never true: {script}"
            time.sleep(0.02)
        return value

    def go(self, address: str) -> None:
        self.ask("Page.navigate", url=address)
        self.until("document.readyState === 'complete'")

    def picture(self, path: Path) -> None:
        """Write what is seen as a PNG, the whole page long."""
        shot = self.ask("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(shot["data"]))

    def faults(self) -> list[str]:
        """What axe-core finds wrong for people who do not see, or use no mouse: the serious and the critical faults."""
        self.ask("Runtime.evaluate", expression=axe())
        found = self.run(
            "axe.run(document, {resultTypes: ['violations'], preload: false}).then((all) => all.violations)"
        )
        return [
            f"{one['id']}: {node['html'][:200]} ({node['failureSummary']})"
            for one in found
            if one["impact"] in ("serious", "critical")
            for node in one["nodes"]
        ]


def axe() -> str:
    """The script of axe-core 4.14.0 (Mozilla Public License 2.0, `vendor/axe.LICENSE`), as it was published."""
    text = gzip.decompress((Path(__file__).parent / "vendor" / "axe.min.js.gz").read_bytes())
    assert hashlib.sha256(text).hexdigest() == "20c09fe157a8a34a30e241aaa1fcdade657734f08ab379ecfbeb7d45cc46e878"
    return text.decode()
