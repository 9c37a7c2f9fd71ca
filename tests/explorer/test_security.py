"""Only the page that was given out may ask, and what it sends is bounded and never run."""

import subprocess
import sys

import pytest

pytest.importorskip("starlette", reason="needs espalier[explore]")
pytest.importorskip("httpx2", reason="needs httpx2")

from starlette.testclient import TestClient

from espalier.explorer.security import MOST_BYTES
from espalier.explorer.server import make_app
from espalier.explorer.session import Session
from espalier.explorer.worker import BusyError, Worker

TOKEN, BASE = "secret", "http://127.0.0.1:8000"
OWN = {"origin": BASE}


@pytest.fixture(scope="module")
def client():
    with TestClient(make_app(Session(), TOKEN), base_url=BASE) as opened:
        yield opened


def test_the_page_and_its_modules_are_given_with_the_token(client):
    page = client.get(f"/{TOKEN}/")
    assert page.status_code == 200
    assert "default-src 'self'" in page.headers["content-security-policy"]
    for name in ("app.js", "history.js", "explorer.css", "page.css", "offline.html"):
        assert client.get(f"/{TOKEN}/{name}").status_code == 200
    for name in ("nothing.js", "..%2fserver.py", "server.py", "%00.js"):
        assert client.get(f"/{TOKEN}/{name}").status_code == 404


@pytest.mark.parametrize(
    "path", ["/", "/wrong/", "/secre/", "/secrett/", "/wrong/ask/programs", ""]
)
def test_a_wrong_token_is_refused(client, path):
    assert client.get(path).status_code == 403
    assert client.post(path, json={}, headers=OWN).status_code == 403


def test_a_post_from_another_origin_is_refused(client):
    ask = f"/{TOKEN}/ask/programs"
    assert client.post(ask, json={}, headers=OWN).status_code == 200
    for origin in ("http://evil.example", "null", "http://127.0.0.1:9", f"{BASE}.evil.example"):
        assert client.post(ask, json={}, headers={"origin": origin}).status_code == 403
    assert client.post(ask, json={}).status_code == 403  # a browser always says
    crossing = {**OWN, "sec-fetch-site": "cross-site"}
    assert client.post(ask, json={}, headers=crossing).status_code == 403


def test_a_foreign_host_is_refused(client):
    for host in ("evil.example", "evil.example:8000", "127.0.0.1.evil.example", ""):
        assert client.get(f"/{TOKEN}/", headers={"host": host}).status_code == 421


def test_what_is_no_question_is_refused(client):
    ask = f"/{TOKEN}/ask/programs"
    plain = {**OWN, "content-type": "text/plain"}
    assert client.post(ask, content="{}", headers=plain).status_code == 415
    long = {"program": "x" * MOST_BYTES}
    assert client.post(ask, json=long, headers=OWN).status_code == 413
    for body in ("", "[1]", "{", "[" * 50_000):
        headers = {**OWN, "content-type": "application/json"}
        assert client.post(ask, content=body, headers=headers).status_code == 400
    assert client.put(ask, json={}, headers=OWN).status_code == 405
    assert "error" in client.post(f"/{TOKEN}/ask/__init__", json={}, headers=OWN).json()


def test_paths_and_code_cannot_come_from_the_browser(client, tmp_path):
    (tmp_path / "own.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    for name in (f"{tmp_path}/own.py:x", "/etc/passwd", "../../x.safetensors", 3, None, ["a"]):
        answer = client.post(f"/{TOKEN}/ask/trace", json={"program": name}, headers=OWN)
        assert "there is no program" in answer.json()["error"]
    assert not (tmp_path / "ran").exists()


def test_what_takes_too_long_is_stopped_and_the_next_question_answered():
    silent = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    with Worker(Session(), longest=0.001) as worker:
        worker._process = subprocess.Popen(silent, stdin=subprocess.PIPE, text=True)
        assert "longer than" in worker.ask("programs", {})["error"]
        worker._longest = 600
        assert worker.ask("programs", {})["programs"]


def test_too_many_questions_at_once_are_refused():
    with Worker(Session()) as worker:
        while worker._waiting.acquire(blocking=False):
            pass
        with pytest.raises(BusyError):
            worker.ask("programs", {})
