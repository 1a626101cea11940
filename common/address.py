"""Where the server is: one URL, read by one set of rules, so that no two parts of oncue decode it differently.

No error of this module quotes any text of the URL: a URL that is cut in the wrong place may show its password in
any part. An error names a single character at most.
"""

import ipaddress
import re
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import quote, unquote_to_bytes

from oncue.common.errors import BadInput
from oncue.common.problem import character_name
from oncue.common.scalar import has_surrogate
from oncue.common.secretfile import read_password

Mode = Literal["single", "sentinel", "cluster"]
Hosts = tuple[tuple[str, int], ...]

_MODES: tuple[tuple[str, Mode], ...] = (("", "single"), ("+sentinel", "sentinel"), ("+cluster", "cluster"))
_SCHEMES: dict[str, tuple[Mode, bool]] = {
    f"{server}{suffix}": (mode, server in ("rediss", "valkeys"))
    for server in ("redis", "rediss", "valkey", "valkeys")
    for suffix, mode in _MODES
}
_DEFAULT_PORT = {"single": 6379, "sentinel": 26379, "cluster": 6379}
_USER_PART = re.compile(r"[A-Za-z0-9\-._~!$&'()*+,;=:%]")
_HOST_PART = re.compile(r"[A-Za-z0-9\-._:,\[\]]")
_PATH_PART = re.compile(r"[A-Za-z0-9\-._~!$&'()*+,;=:@%/]")
_HOST = re.compile(r"(?:\[(?P<v6>[^\[\]]*)\]|(?P<name>[^\[\]:]*))(?::(?P<port>.*))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Address:
    """A checked server address. `service` is the primary's name (sentinel only); `hosts` is empty for a socket."""

    mode: Mode
    hosts: Hosts
    socket_path: str | None = None
    db: int = 0
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    tls: bool = False
    service: str | None = None
    ca_file: str | None = None

    def __str__(self) -> str:
        """Return the address without its password."""
        return self.redacted

    @property
    def redacted(self) -> str:
        """The URL for logs: the password is replaced by `***`."""
        user = quote(self.username or "", safe="")
        secret = ":***" if self.password is not None else ""
        userinfo = f"{user}{secret}@" if user or secret else ""
        if self.socket_path is not None:
            return f"unix://{userinfo}{quote(self.socket_path)}" + (f"?db={self.db}" if self.db else "")
        suffix = "" if self.mode == "single" else f"+{self.mode}"
        return f"redis{'s' if self.tls else ''}{suffix}://{userinfo}{self._places}{self._path}"

    @property
    def shown(self) -> str:
        """The place alone, as a person would name it: no user, no password, no scheme."""
        if self.socket_path is not None:
            return self.socket_path + (f" (database {self.db})" if self.db else "")
        return f"{self._places}{self._path}"

    @property
    def _places(self) -> str:
        return ",".join(f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in self.hosts)

    @property
    def _path(self) -> str:
        service = f"/{quote(self.service, safe='')}" if self.service else ""
        return service + (f"/{self.db}" if self.db else "")


def parse(
    url: str,
    *,
    username: str | None = None,
    password: str | None = None,
    password_file: str | None = None,
    ca_file: str | None = None,
) -> Address:
    """Read a server URL; settings given apart from it win over its user part.

    The forms are `redis://`, `rediss://` (TLS), `unix:///path?db=N`, `redis+sentinel://h1,h2/primary/N` and
    `redis+cluster://h1,h2`; `valkey` may stand for `redis`. Special characters are percent-encoded, a `+` is a `+`.
    `password_file` is read here. Raises `BadInput`, whose text never holds the password.
    """
    if password is not None and password_file is not None:
        raise BadInput("both password and password_file are set; give one of them")
    secret = read_password(password_file) if password_file is not None else password
    if has_surrogate(secret or "") or has_surrogate(username or ""):
        raise BadInput("the user or the password is not UTF-8 text")
    scheme, userinfo, place = _split(url)
    url_user, url_secret = _user(userinfo, secret is not None)
    user = username or url_user
    secret = url_secret if secret is None else secret
    if scheme == "unix":
        if ca_file is not None:
            raise BadInput("ca_file is set, but a unix socket has no TLS; remove ca_file or use rediss://")
        path, db = _socket(place)
        return Address("single", (), socket_path=path, db=db, username=user, password=secret)
    mode, tls = _SCHEMES[scheme]
    if ca_file is not None and not tls:
        raise BadInput(
            "ca_file is set, but the server URL asks for no TLS; write rediss:// or remove ca_file"
        )
    hosts, service, db = _network(mode, place)
    return Address(
        mode, hosts, db=db, username=user, password=secret, tls=tls, service=service, ca_file=ca_file
    )


def _split(url: str) -> tuple[str, str, str]:
    """Cut into scheme, user part and the rest; the last `@` ends the user part, so a raw `@` is found inside it."""
    scheme, separator, rest = url.partition("://")
    scheme = scheme.lower()
    if not separator or (scheme not in _SCHEMES and scheme != "unix"):
        raise BadInput(
            "the server URL must start with redis://, rediss://, valkey://, valkeys://, unix://, "
            "redis+sentinel:// or redis+cluster://"
        )
    if scheme == "unix" and rest.startswith("/"):
        return scheme, "", rest
    userinfo, _, place = rest.rpartition("@")
    return scheme, userinfo, place


def _user(userinfo: str, password_is_apart: bool) -> tuple[str | None, str | None]:
    where = "the part of the server URL before the last '@' (user and password)"
    _refuse_other_than(_USER_PART, userinfo, where)
    name, colon, secret = userinfo.partition(":")
    if name and not colon and not password_is_apart:
        raise BadInput(
            f"{where} has no ':', so it may be a user or a password; "
            "write USER:PASSWORD@ or :PASSWORD@, or give the password in a setting of its own"
        )
    decoded_name, decoded_secret = _decoded(name, where), _decoded(secret, where)
    return decoded_name or None, decoded_secret if decoded_secret or (colon and name) else None


def _socket(place: str) -> tuple[str, int]:
    path, question, query = place.partition("?")
    where = "the socket path of the server URL"
    _refuse_other_than(_PATH_PART, path, where)
    if not path.startswith("/") or path == "/":
        raise BadInput("the server URL needs an absolute socket path, such as unix:///run/valkey/valkey.sock")
    if question and not query.startswith("db="):
        raise BadInput(
            "after '?' the server URL of a socket may only hold db=NUMBER; write another '?' as %3F"
        )
    return _decoded(path, where), _database(query.removeprefix("db="))


def _network(mode: Mode, place: str) -> tuple[Hosts, str | None, int]:
    authority, _, tail = place.partition("/")
    _refuse_other_than(_HOST_PART, authority, "the host part of the server URL")
    hosts = tuple(_host(part, _DEFAULT_PORT[mode]) for part in _commas(authority))
    if mode == "single" and len(hosts) > 1:
        raise BadInput("the server URL names several hosts; write redis+sentinel:// or redis+cluster://")
    where = "the path of the server URL"
    _refuse_other_than(_PATH_PART, tail, where)
    if mode == "sentinel":
        name, _, number = tail.partition("/")
        if not name:
            raise BadInput("the server URL needs the primary's name: redis+sentinel://HOST:26379/PRIMARY")
        return hosts, _decoded(name, where), _database(number)
    db = _database(tail)
    if mode == "cluster" and db:
        raise BadInput("a cluster has database 0 alone; remove the number at the end of the server URL")
    return hosts, None, db


def _commas(authority: str) -> list[str]:
    if not authority:
        raise BadInput("the server URL names no host; write redis://HOST:6379")
    return authority.split(",")


def _host(part: str, default_port: int) -> tuple[str, int]:
    match = _HOST.fullmatch(part)
    if not match or (match["v6"] is not None and not _is_ipv6(match["v6"])):
        raise BadInput("'[' and ']' in the server URL must hold an IPv6 address, such as [::1]:6379")
    name = match["v6"] or match["name"]
    if not name:
        raise BadInput("a host in the server URL is empty; write HOST:PORT")
    return name, default_port if match["port"] is None else _port(match["port"])


def _is_ipv6(text: str) -> bool:
    try:
        ipaddress.IPv6Address(text)
    except ValueError:
        return False
    return True


def _port(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,5}", text) or not 1 <= int(text) <= 65535:
        raise BadInput("after a host and ':' the server URL needs a port, a number from 1 to 65535")
    return int(text)


def _database(text: str) -> int:
    if not re.fullmatch(r"[0-9]{0,6}", text):
        raise BadInput("the database in the server URL must be a number, such as /0")
    return int(text or 0)


def _refuse_other_than(allowed: re.Pattern[str], text: str, where: str) -> None:
    for char in text:
        if not allowed.match(char):
            raise BadInput(f"{where} contains {character_name(char)}, which must be written {_encoded(char)}")
    if re.search(r"%(?![0-9A-Fa-f]{2})", text):
        raise BadInput(
            f"in {where} a '%' is not followed by two hexadecimal digits; a '%' itself is written %25"
        )


def _encoded(char: str) -> str:
    return "".join(f"%{byte:02X}" for byte in char.encode("utf-8", "surrogatepass"))


def _decoded(text: str, where: str) -> str:
    raw = unquote_to_bytes(text)
    decoded = raw.decode("utf-8", "replace")
    # Compared instead of caught: a UnicodeDecodeError would carry the password along as its context.
    if decoded.encode() != raw:
        raise BadInput(f"in {where} the percent-encoded bytes are not UTF-8")
    return decoded
