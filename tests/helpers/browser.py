"""A headless Chromium that tests drive with the keyboard, through its DevTools protocol."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from tornado.websocket import WebSocketClientConnection, websocket_connect

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)

# Leaves what it measures in the title of the page around it.
PROBE = """
const width = document.documentElement.clientWidth, out = [], pale = [];
const scrolls = e => e && (['auto', 'scroll', 'hidden'].includes(getComputedStyle(e).overflowX)
    || scrolls(e.parentElement));
const colour = text => {
  const [r, g, b, a = 1] = text.match(/[\\d.]+/g).map(Number);
  return {rgb: [r, g, b], alpha: a};
};
const light = rgb => {
  const [r, g, b] = rgb.map(c => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const ground = e => {
  const c = colour(getComputedStyle(e).backgroundColor);
  return c.alpha === 1 ? c.rgb : e.parentElement ? ground(e.parentElement) : [255, 255, 255];
};
let texts = 0;
for (const e of document.body.querySelectorAll('*')) {
  const box = e.getBoundingClientRect(), style = getComputedStyle(e);
  const away = e.closest('.unseen, .skip, .defs');
  if (!away && box.width && box.right > width + 0.5 && !scrolls(e.parentElement))
    out.push(e.tagName + '.' + e.getAttribute('class'));
  const own = [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim());
  if (!own || away || style.display === 'none' || !box.width) continue;
  texts += 1;
  const ink = e.namespaceURI.endsWith('svg') ? style.fill : style.color;
  const [a, b] = [light(colour(ink).rgb), light(ground(e))].sort((x, y) => y - x);
  const ratio = (a + 0.05) / (b + 0.05);
  if (ratio < 4.5) pale.push(`${e.tagName}.${e.getAttribute('class')} ${ratio.toFixed(2)}`);
}
const rows = [...document.querySelectorAll('.strip a')];
parent.document.title = JSON.stringify({
  width, scroll: document.documentElement.scrollWidth, out, pale, texts,
  dark: matchMedia('(prefers-color-scheme: dark)').matches,
  math: document.querySelectorAll('math').length,
  small: rows.filter(e => e.getBoundingClientRect().height < 24).length,
});
"""

_KEYS = {
    "Tab": ("Tab", 9, ""),
    "Enter": ("Enter", 13, "\r"),
    "Space": ("Space", 32, " "),
    "ArrowDown": ("ArrowDown", 40, ""),
    "Backspace": ("Backspace", 8, ""),
    "Escape": ("Escape", 27, ""),
}
_SHIFT = 8


class Browser:
    """One page of a browser."""

    def __init__(self, socket: WebSocketClientConnection, loop: asyncio.AbstractEventLoop):
        self._socket, self._loop, self._calls, self._loads = socket, loop, 0, 0
        self.complaints: list[str] = []
        """What the console says: errors, and what a policy has blocked."""
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """The result of one DevTools command."""
        return self._loop.run_until_complete(asyncio.wait_for(self._call(method, params), 30))

    async def _call(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._calls += 1
        sent = self._calls
        await self._socket.write_message(
            json.dumps({"id": sent, "method": method, "params": params})
        )
        while True:
            said = json.loads(await self._socket.read_message())
            if said.get("id") == sent:
                assert "error" not in said, said
                return said["result"]
            self._loads += said.get("method") == "Page.loadEventFired"
            if said.get("method") in ("Log.entryAdded", "Runtime.exceptionThrown"):
                self.complaints.append(json.dumps(said["params"]))

    def open(self, page: str, *, width: int = 1200, dark: bool = False) -> None:
        """Opens the address *page* and waits until it has loaded."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=800,
            deviceScaleFactor=1,
            mobile=False,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self._navigate("about:blank")  # so that an address that differs in its hash loads again
        self._navigate(page)
        self.wait_for("document.readyState === 'complete' && location.href !== 'about:blank'")

    def _navigate(self, page: str) -> None:
        loads, end = self._loads, time.monotonic() + 60
        self.call("Page.navigate", url=page)
        while self._loads == loads:
            assert time.monotonic() < end, page
            time.sleep(0.01)
            self.see("0")  # events arrive with the answer to a command

    def see(self, expression: str) -> object:
        """The value of a JavaScript expression on the page."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def wait_for(self, expression: str) -> None:
        """Waits until the expression is true; while a page loads, it may fail to evaluate."""
        end = time.monotonic() + 60
        tried = f"(() => {{ try {{ return ({expression}) }} catch {{ return false }} }})()"
        while not self.see(tried):
            assert time.monotonic() < end, expression
            time.sleep(0.02)

    def press(self, *keys: str, shift: bool = False) -> None:
        """Presses keys, each a name of `_KEYS` or one character."""
        for key in keys:
            code, number, text = _KEYS.get(key, ("", ord(key[0].upper()), key))
            self.call(
                "Input.dispatchKeyEvent",
                type="keyDown",
                key=key,
                code=code,
                windowsVirtualKeyCode=number,
                text=text,
                modifiers=_SHIFT if shift else 0,
            )
            self.call("Input.dispatchKeyEvent", type="keyUp", key=key, code=code)

    def tab_to(self, selector: str) -> None:
        """Presses Tab until the element that *selector* finds has the focus."""
        for _ in range(60):
            if self.see(f"document.activeElement.matches({json.dumps(selector)})"):
                return
            self.press("Tab")
        raise AssertionError(f"the keyboard does not reach {selector}")

    def measure(self) -> dict[str, Any]:
        """What the probe finds on the page."""
        self.see(f"(() => {{ {PROBE} }})()")
        return json.loads(str(self.see("document.title")))


@contextmanager
def a_browser(profile: Path) -> Iterator[Browser]:
    """A browser with an empty profile in *profile*."""
    options = (
        "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run",
        "--disable-background-networking", "--disable-component-update", "--disable-sync",
        "--hide-scrollbars", "--remote-debugging-port=0", f"--user-data-dir={profile}",
    )  # fmt: skip
    process = subprocess.Popen([str(CHROMIUM), *options], stderr=subprocess.DEVNULL)
    loop = asyncio.new_event_loop()
    try:
        port = profile / "DevToolsActivePort"
        end = time.monotonic() + 30
        while not (port.exists() and port.read_text().count("\n")):
            assert time.monotonic() < end, "the browser did not start"
            time.sleep(0.05)
        with urlopen(f"http://127.0.0.1:{port.read_text().split()[0]}/json") as answer:
            page = next(one for one in json.load(answer) if one["type"] == "page")
        address = page["webSocketDebuggerUrl"]
        socket = loop.run_until_complete(_connect(address))
        yield Browser(socket, loop)
        loop.run_until_complete(_close(socket))
    finally:
        process.terminate()
        process.wait(20)
        loop.close()


async def _connect(address: str) -> WebSocketClientConnection:
    return await websocket_connect(address, max_message_size=1 << 26)


async def _close(socket: WebSocketClientConnection) -> None:
    socket.close()  # which needs a running loop
