"""Who may ask: only a page that this server gave out, on this machine.

The address holds a token as its first part, compared in constant time. Hosts other than loopback
names are refused (a foreign name that resolves here), as is a post from another origin, one that
is no JSON and one that is too long. Answers forbid the page any address but its own.
"""

from __future__ import annotations

import secrets

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_BYTES = 100_000
HOSTS = ("127.0.0.1", "localhost")
HEADERS = {
    "Content-Security-Policy": "default-src 'self'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; frame-ancestors 'none'; form-action 'none'; base-uri 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Guard:
    """Lets through what asks with the token, from this machine and from this origin."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app, self._token = app, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or say why not."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        fault = self._fault(scope)
        if fault is not None:
            status, why = fault
            await PlainTextResponse(why, status, HEADERS)(scope, receive, send)
            return
        scope = {**scope, "path": "/" + scope["path"].split("/", 2)[2]}

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] += [(k.encode(), v.encode()) for k, v in HEADERS.items()]
            await send(message)

        await self._app(scope, receive, sent)

    def _fault(self, scope: Scope) -> tuple[int, str] | None:
        headers, parts = Headers(scope=scope), scope["path"].split("/", 2)
        host = headers.get("host", "")
        if host.rsplit(":", 1)[0] not in HOSTS:
            return 421, "this page is served to this machine alone"
        if len(parts) < 3 or not secrets.compare_digest(parts[1].encode(), self._token.encode()):
            return 403, "wrong or missing token: open the address that the command printed"
        if scope["method"] == "GET":
            return None
        if scope["method"] != "POST":
            return 405, "only GET and POST"
        if headers.get("origin") != f"http://{host}" or headers.get(
            "sec-fetch-site", "same-origin"
        ) not in ("same-origin", "none"):
            return 403, "a post from another origin"
        if headers.get("content-type", "").split(";")[0] != "application/json":
            return 415, "questions are JSON"
        length = headers.get("content-length", "")
        if not length.isdecimal() or int(length) > MOST_BYTES:
            return 413, f"a question has at most {MOST_BYTES:,} bytes"
        return None
