"""Calls: the built-in handler of tasks that describe an HTTP request."""

import http.client
import ssl
from typing import cast
from urllib.parse import urlsplit

import msgspec

from oncue.common.allowance import Allowance
from oncue.common.answers import Bury, Throttled
from oncue.common.errors import BadInput
from oncue.common.secret import Secret, resolved
from oncue.common.task import Failed, Task
from oncue.common.work import CALL_TIMEOUT_S, Call, Request, check_header, read_work
from oncue.worker.limit import call_within

_LONGEST_PAUSE_S = 86_400
_SHOWN = 2_000


class Calls:
    """All calls of one worker process, each over a connection of its own; called from handler threads.

    No redirect is followed: where one leads is for nobody on the other side to say.
    """

    def __init__(self, allowance: Allowance) -> None:
        self._allowance = allowance

    def __call__(self, task: Task) -> dict[str, object]:
        """Calls a task's URL. Its result: status, and the beginning of the answer."""
        call = _description(task)
        if not self._allowance.allows_url(call.http.url):
            raise Bury(f"{call.http.url} may not be called by this worker: it is not on its list allow_http")
        headers = self._headers(task, call.http)
        timeout_s = call.timeout_s or CALL_TIMEOUT_S
        answer = call_within(timeout_s, lambda _: _sent(call, headers, timeout_s), None)
        status, pause, said = cast("tuple[int, float | None, str]", answer)
        request = call.http
        if status in request.expect or (not request.expect and 200 <= status < 300):
            return {"status": status, "output": said}
        message = f"{request.url} has answered with {status}{': ' if said else ''}{said[:_SHOWN]}"
        if status == 429:
            raise Throttled(pause, reason=message)
        raise Failed(message)

    def _headers(self, task: Task, request: Request) -> dict[str, str]:
        # A repeated call can be told from a new one: a retry has the same id, and so has a run after a lost lease.
        headers = {"User-Agent": "oncue", "Idempotency-Key": task.id}
        if isinstance(request.body, str):
            headers["Content-Type"] = "text/plain; charset=utf-8"
        elif request.body is not None:
            headers["Content-Type"] = "application/json"
        for name, value in request.headers.items():
            if isinstance(value, Secret) and self._allowance.only is None:
                # Who can write to the store could have any file of this host sent to himself.
                raise Bury(
                    f"headers.{name}: secrets go to URLs of the list allow_http alone, and there is none"
                )
            try:
                text = resolved(value)
                check_header(name, text)
            except ValueError as error:
                raise Failed(f"headers.{name}: {error}") from None
            headers = {known: headers[known] for known in headers if known.lower() != name.lower()}
            headers[name] = text
        return headers


def _description(task: Task) -> Call:
    try:
        call = read_work("http", task.data)
    except BadInput as error:
        raise Bury(str(error)) from None
    assert isinstance(call, Call)
    return call


def _sent(call: Call, headers: dict[str, str], timeout_s: float) -> tuple[int, float | None, str]:
    """Status, seconds that the server asks to wait, and the beginning of its answer."""
    request = call.http
    connection = _connection(request.url, timeout_s)
    parts = urlsplit(request.url)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    method = request.method or ("GET" if request.body is None else "POST")
    try:
        connection.request(method, target, _body(request.body), headers)
        response = connection.getresponse()
        said = response.read(call.output_limit_bytes)
    except (OSError, http.client.HTTPException) as error:
        raise Failed(f"{request.url} cannot be called: {error or type(error).__name__}") from None
    finally:
        connection.close()
    return response.status, _pause_s(response.getheader("Retry-After")), said.decode(errors="replace")


def _connection(url: str, timeout_s: float) -> http.client.HTTPConnection:
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.scheme == "http":
        return http.client.HTTPConnection(host, parts.port, timeout=timeout_s)
    return http.client.HTTPSConnection(
        host, parts.port, timeout=timeout_s, context=ssl.create_default_context()
    )


def _body(body: object) -> bytes | None:
    if body is None:
        return None
    return body.encode() if isinstance(body, str) else msgspec.json.encode(body)


def _pause_s(text: str | None) -> float | None:
    return min(int(text), _LONGEST_PAUSE_S) if text and text.isascii() and text.isdigit() else None
