"""Schedules that call a URL: what is sent, what counts as good, and what a worker refuses."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from oncue import App
from oncue.common.allowance import Allowance
from oncue.common.answers import Bury, Throttled, TimedOut
from oncue.common.clock import monotonic_s
from oncue.common.task import Failed, Task
from oncue.worker.calls import Calls
from tests.support.fixtures import app_by_url
from tests.support.processes import Process
from tests.support.waiting import eventually

app = app_by_url()


class Site(ThreadingHTTPServer):
    """Answers with the next of its ``answers`` or the status that the path names, and remembers what came."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.seen: list[tuple[str, str, dict[str, str], bytes]] = []
        self.answers: list[int] = []
        self.ended = threading.Event()
        self.url = f"http://127.0.0.1:{self.server_address[1]}/"


class _Answer(BaseHTTPRequestHandler):
    def _answer(self) -> None:
        site = self.server
        assert isinstance(site, Site)
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        site.seen.append((self.command, self.path, dict(self.headers), body))
        if self.path == "/slow":
            self.wfile.write(b"HTTP/1.0 200 OK\r\n")
            # A byte now and then: no single read takes long.
            while not site.ended.wait(0.05):
                self.wfile.write(b"x")
            return
        self.send_response(site.answers.pop(0) if site.answers else int(self.path[1:4]))
        self.send_header("Location", f"{site.url}200")
        self.send_header("Retry-After", "7")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(b"well " * 10)

    do_GET = do_POST = do_PUT = do_HEAD = _answer

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def site() -> Iterator[Site]:
    found = Site()
    thread = threading.Thread(target=found.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield found
    found.ended.set()
    found.shutdown()
    thread.join()
    found.server_close()


def call(data: object, allowance: Allowance | None = None) -> dict[str, Any]:
    return Calls(allowance or Allowance(True))(Task("some-id", "http", data, 0))


def test_a_url_is_called_and_its_answer_is_the_result(site: Site) -> None:
    found = call({"http": {"url": f"{site.url}200?a=b"}, "output_limit_bytes": 9})
    assert found == {"status": 200, "output": "well well"}
    method, path, headers, body = site.seen[0]
    assert (method, path, body) == ("GET", "/200?a=b", b"")
    assert headers["Idempotency-Key"] == "some-id"


def test_headers_come_from_secrets_and_a_body_goes_as_json(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "token").write_text("Bearer 123\n")
    monkeypatch.setenv("SHOP_KEY", "456")
    headers = {"authorization": {"file": str(tmp_path / "token")}, "X-Key": {"env": "SHOP_KEY"}}
    data = {"http": {"url": f"{site.url}201", "headers": headers, "body": {"a": [1]}}}
    call(data, Allowance(True, (site.url,)))
    method, _, sent, body = site.seen[0]
    assert (method, body, sent["Content-Type"]) == ("POST", b'{"a":[1]}', "application/json")
    assert (sent["authorization"], sent["X-Key"]) == ("Bearer 123", "456")
    with pytest.raises(Bury, match="secrets go to URLs of the list allow_http alone"):
        call(data)
    (tmp_path / "token").unlink()
    with pytest.raises(Failed, match=r"headers.authorization: .*token cannot be read"):
        call(data, Allowance(True, (site.url,)))
    (tmp_path / "token").write_text("a\nEvil: b\n")
    with pytest.raises(Failed, match="printable ASCII on one line"):
        call(data, Allowance(True, (site.url,)))
    assert len(site.seen) == 1


def test_the_status_decides_and_no_redirect_is_followed(site: Site) -> None:
    for status in (302, 307, 404, 500):
        with pytest.raises(Failed, match=f"has answered with {status}: well"):
            call({"http": {"url": f"{site.url}{status}"}})
    assert len(site.seen) == 4
    assert call({"http": {"url": f"{site.url}404", "expect": [404], "method": "HEAD"}})["status"] == 404
    with pytest.raises(Failed, match="has answered with 200"):
        call({"http": {"url": f"{site.url}200", "expect": [204]}})
    with pytest.raises(Throttled) as throttled:
        call({"http": {"url": f"{site.url}429"}})
    assert throttled.value.delay_s == 7


def test_a_call_has_its_limit_whatever_the_other_side_does(site: Site) -> None:
    began = monotonic_s()
    with pytest.raises((TimedOut, Failed)):
        call({"http": {"url": f"{site.url}slow"}, "timeout_s": 0.3})
    # The other side would go on until the end of the test.
    assert monotonic_s() - began < 20


def test_nobody_there_is_a_failure_in_plain_words() -> None:
    with pytest.raises(Failed, match=r"http://127.0.0.1:1/ cannot be called: .*refused"):
        call({"http": {"url": "http://127.0.0.1:1/"}})


def test_what_is_not_on_the_list_is_not_called(site: Site) -> None:
    with pytest.raises(Bury, match="not on its list allow_http"):
        call({"http": {"url": f"{site.url}200"}}, Allowance(True, (f"{site.url}jobs/",)))
    unusable: list[Any] = [None, {"http": {}}, {"http": {"url": "file:///etc/passwd"}}, {"command": ["x"]}]
    for nonsense in unusable:
        with pytest.raises(Bury, match="does not describe a call of a URL"):
            call(nonsense)
    assert site.seen == []


def test_a_schedule_of_the_file_calls_a_url_through_a_worker_that_was_started_so(
    run_oncue: Callable[..., Process], env: dict[str, str], app: App, tmp_path: Path, site: Site
) -> None:
    site.answers = [503, 500, 204]
    (tmp_path / "key").write_text("Bearer s3cret\n")
    file = tmp_path / "oncue.yaml"
    file.write_text(
        f"allow_http: ['{site.url}']\n"
        "schedules:\n  report:\n    cron: '0 0 1 1 *'\n"
        f"    http: {{url: '{site.url}200', headers: {{Authorization: {{file: {tmp_path}/key}}}}, body: {{a: 1}}}}\n"
        "    retry: {max_attempts: 3, backoff: fixed, first_s: 0}\n"
        f"  astray:\n    cron: '0 0 1 1 *'\n    http: {{url: 'http://localhost:9/'}}\n"
    )
    env = {**env, "ONCUE_KEEP_FINISHED_S": "600"}
    run_oncue("scheduler", "--config", file, env=env).wait_for_line("at work")
    task, astray = app.schedules.trigger("report"), app.schedules.trigger("astray")
    # A list alone allows nothing: this one is not told to call anybody.
    idle = run_oncue("worker", "--allow-commands", "--config", file, env=env)
    idle.wait_for_line("at work")
    assert (app.get(task).state, site.seen) == ("ready", [])
    worker = run_oncue("worker", "--allow-http", "--config", file, env=env)
    eventually(lambda: app.get(task).state == "done", what="the end of the call")
    assert app.get(task).result == {"status": 204, "output": ""}
    assert app.get(task).attempts == 3
    eventually(lambda: app.get(astray).state == "dead", what="the refusal")
    assert "not on its list allow_http" in str(app.get(astray).error)
    method, path, headers, body = site.seen[-1]
    assert (method, path, headers["Authorization"], body) == ("POST", "/200", "Bearer s3cret", b'{"a":1}')
    assert {seen[2]["Idempotency-Key"] for seen in site.seen} == {task}
    assert len(site.seen) == 3
    worker.term()
    assert worker.wait() == 0
    assert "s3cret" not in worker.output
