"""The local page: loopback alone, a token in the address, work in processes that can be stopped."""

from __future__ import annotations

import json
import secrets
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qs

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from espalier.errors import FileError
from espalier.explorer.answers import HEAVY
from espalier.explorer.bundle import asset, template
from espalier.explorer.security import MOST_BYTES, Guard
from espalier.explorer.session import Session
from espalier.explorer.worker import LONGEST, BusyError, Question, Worker

HOST = "127.0.0.1"
SLOW_TO_BUILD = ("scan", "subleq")
KINDS = {"js": "text/javascript", "css": "text/css", "html": "text/html"}


def make_app(
    session: Session, token: str, *, state: str = "", longest: float = LONGEST
) -> Starlette:
    """The page and its questions, for any server of ASGI; `state` is what the page begins with."""
    light, heavy = (Worker(session, longest, expected) for expected in _expected(state))
    first, second = (heavy, light) if "view=networks" in state else (light, heavy)
    first.warm()  # while the server itself is still being imported

    async def ask(request: Request) -> Response:
        body = await request.body()
        try:
            asked = json.loads(body) if len(body) <= MOST_BYTES else None
        except (ValueError, RecursionError):
            asked = None
        if not isinstance(asked, dict):
            return JSONResponse({"error": "a question is one JSON object"}, 400)
        name = request.path_params["name"]
        worker = heavy if name in HEAVY else light
        try:
            found: dict[str, Any] = await run_in_threadpool(worker.ask, name, asked)
            second.warm()  # only now, so that it does not slow down the first view
        except BusyError:
            return JSONResponse({"error": "too many questions at once; wait a moment"}, 503)
        return JSONResponse(found, 500 if "fault" in found else 200)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        for worker in (light, heavy):
            worker.close()

    routes = [
        Route("/", lambda request: _file("index.html")),
        Route("/offline.html", lambda request: Response(template(), media_type="text/plain")),
        Route("/{name}", lambda request: _file(request.path_params["name"])),
        Route("/ask/{name}", ask, methods=["POST"]),
    ]
    return Starlette(routes=routes, middleware=[Middleware(Guard, token)], lifespan=lifespan)


def _expected(state: str) -> tuple[list[Question], list[Question]]:
    """Likely questions to the quick process, and to the one with torch."""
    chosen = parse_qs(state).get("program", ["addition"])
    light = [("program", {"program": name}) for name in dict.fromkeys([*chosen, *SLOW_TO_BUILD])]
    if "view=networks" in state:
        return light, [("sentence", {"sentence": "the city"})]
    return light, [("weights", {"program": "histogram", "input": "a"})]


def _file(name: str) -> Response:
    try:
        return Response(asset(name), media_type=KINDS[name.rpartition(".")[2]])
    except (FileError, KeyError):
        return PlainTextResponse(f"the page has no file {name!r}", 404)


def serve(
    session: Session, *, state: str = "", port: int = 0, opened: Callable[[str], None]
) -> None:
    """Serve until interrupted; `opened` is called with the address once the page can be opened."""
    token = secrets.token_urlsafe(16)
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((HOST, port))
    except (OSError, OverflowError) as error:
        listening.close()
        why = error.strerror if isinstance(error, OSError) else "ports are 0 to 65535"
        raise FileError(f"port {port} cannot be used ({why}); leave out --port") from None
    listening.listen()  # a browser may come before the first request is answered
    address = f"http://{HOST}:{listening.getsockname()[1]}/{token}/{state}"
    app = make_app(session, token, state=state.removeprefix("#"))
    import uvicorn  # while the first worker starts

    config = uvicorn.Config(app, log_level="warning", access_log=False, lifespan="on")
    opened(address)
    uvicorn.Server(config).run([listening])
