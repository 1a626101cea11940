"""A server URL is read by one set of rules, and no error about it gives the password away."""

import string
import traceback
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oncue.common.address import Address, parse
from oncue.common.errors import BadInput

AWKWARD = "a#b@c/d%e+f=g:h?i j"


@pytest.mark.parametrize(
    ("url", "hosts", "db", "tls"),
    [
        ("redis://db1", (("db1", 6379),), 0, False),
        ("redis://db1/", (("db1", 6379),), 0, False),
        ("rediss://db1:7000/3", (("db1", 7000),), 3, True),
        ("valkey://db_1.example:6380/2", (("db_1.example", 6380),), 2, False),
        ("VALKEYS://10.0.0.1", (("10.0.0.1", 6379),), 0, True),
        ("redis://[::1]:6380/1", (("::1", 6380),), 1, False),
        ("redis://[fe80::1]", (("fe80::1", 6379),), 0, False),
    ],
)
def test_a_single_server_is_read(url: str, hosts: tuple[tuple[str, int], ...], db: int, tls: bool) -> None:
    assert parse(url) == Address("single", hosts, db=db, tls=tls)


def test_a_socket_is_read() -> None:
    assert parse("unix:///run/a%20b.sock?db=4") == Address("single", (), socket_path="/run/a b.sock", db=4)
    assert parse("unix://u:p@/run/v.sock") == Address(
        "single", (), socket_path="/run/v.sock", username="u", password="p"
    )
    assert parse("unix:///run/a@b.sock").socket_path == "/run/a@b.sock"


def test_sentinels_are_read_with_the_name_of_their_primary() -> None:
    address = parse("redis+sentinel://u:p@h1:26380,h2/main%20one/2")
    assert address.mode == "sentinel"
    assert address.hosts == (("h1", 26380), ("h2", 26379))
    assert (address.service, address.db, address.password) == ("main one", 2, "p")


def test_a_cluster_is_read_and_has_one_database() -> None:
    address = parse("rediss+cluster://h1:7000,h2:7001/0")
    assert (address.mode, address.hosts, address.tls) == ("cluster", (("h1", 7000), ("h2", 7001)), True)
    with pytest.raises(BadInput, match="a cluster has database 0 alone"):
        parse("redis+cluster://h1/1")


def test_a_password_with_special_characters_logs_in_encoded_or_in_a_setting_of_its_own(
    tmp_path: Path,
) -> None:
    file = tmp_path / "password"
    file.write_text(AWKWARD + "\n")
    encoded = f"redis://{quote('u:1', safe='')}:{quote(AWKWARD, safe='')}@h"
    for address in (
        parse(encoded),
        parse("redis://h", username="u:1", password=AWKWARD),
        parse("redis://u%3A1@h", password_file=str(file)),
        parse("redis://other:one@h", username="u:1", password=AWKWARD),
    ):
        assert (address.username, address.password) == ("u:1", AWKWARD)


def test_a_raw_plus_stays_a_plus_and_later_colons_belong_to_the_password() -> None:
    assert parse("redis://:a+b:c=d@h").password == "a+b:c=d"


def test_empty_user_parts_are_none() -> None:
    assert parse("redis://@h") == parse("redis://:@h") == parse("redis://h")
    assert parse("redis://user:@h").password == ""


@pytest.mark.parametrize(
    ("character", "named"),
    [
        ("#", "'#'.*%23"),
        ("/", "'/'.*%2F"),
        ("?", r"'\?'.*%3F"),
        ("@", "'@'.*%40"),
        (" ", "a space.*%20"),
        ("ü", "latin small letter u with diaeresis.*%C3%BC"),
        ("\u00a0", "a non-breaking space .*%C2%A0"),
        ("\n", "control character .*%0A"),
        ("%", "'%' itself is written %25"),
    ],
)
def test_a_character_that_must_be_encoded_is_named(character: str, named: str) -> None:
    with pytest.raises(BadInput, match=named) as caught:
        parse(f"redis://user:s3cr3t{character}x7@host/0")
    assert "s3cr3t" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("", "must start with redis://"),
        ("localhost:6379", "must start with redis://"),
        ("http://h", "must start with redis://"),
        ("unix:/run/x", "must start with redis://"),
        ("redis://", "names no host"),
        ("redis://:6379", "a host in the server URL is empty"),
        ("redis://h:", "a number from 1 to 65535"),
        ("redis://h:0", "a number from 1 to 65535"),
        ("redis://h:65536", "a number from 1 to 65535"),
        ("redis://h:x", "a number from 1 to 65535"),
        ("redis://h:\u0661", "host part of the server URL contains a arabic-indic digit one"),
        ("redis://::1", "a number from 1 to 65535|is empty"),
        ("redis://[::1", "must hold an IPv6 address"),
        ("redis://[h]", "must hold an IPv6 address"),
        ("redis://h1,h2", "names several hosts"),
        ("redis+cluster://h1,,h2", "a host in the server URL is empty"),
        ("redis://h/x", "database in the server URL must be a number"),
        ("redis://h/1/2", "database in the server URL must be a number"),
        ("redis://h?db=1", r"contains '\?'"),
        ("redis://h/0?db=1", r"contains '\?'"),
        ("redis://h/0#x", "contains '#'"),
        ("redis+sentinel://h1", "needs the primary's name"),
        ("redis+sentinel://h1/main/x", "database in the server URL must be a number"),
        ("unix://run/x.sock", "absolute socket path"),
        ("unix:///run/x.sock?name=1", r"may only hold db=NUMBER"),
        ("redis://:%ff@h", "not UTF-8"),
        ("redis://:%4@h", "hexadecimal"),
        ("redis://token@h", "may be a user or a password"),
    ],
)
def test_a_malformed_url_is_refused_in_a_sentence(url: str, sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        parse(url)


def test_settings_that_contradict_each_other_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="both password and password_file"):
        parse("redis://h", password="x", password_file=str(tmp_path))
    for url in ("redis://h", "unix:///run/x.sock"):
        with pytest.raises(BadInput, match="no TLS"):
            parse(url, ca_file="ca.pem")
    assert parse("rediss://h", ca_file="ca.pem").ca_file == "ca.pem"


@pytest.mark.parametrize(
    ("content", "sentence"),
    [(b"", "empty"), (b"\n", "empty"), (b"s3cr3t\xff", "not UTF-8"), (b"x" * 70_000, "longer")],
)
def test_an_unusable_password_file_is_refused_by_name_alone(
    tmp_path: Path, content: bytes, sentence: str
) -> None:
    file = tmp_path / "pw"
    file.write_bytes(content)
    with pytest.raises(BadInput, match=sentence) as caught:
        parse("redis://h", password_file=str(file))
    assert str(file) in str(caught.value)
    assert "s3cr3t" not in str(caught.value)


def test_a_missing_password_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot be read: No such file"):
        parse("redis://h", password_file=str(tmp_path / "none"))


def test_one_line_end_is_taken_off_a_password_file(tmp_path: Path) -> None:
    file = tmp_path / "pw"
    file.write_bytes(b" x \n\r\n")
    assert parse("redis://h", password_file=str(file)).password == " x \n"


@pytest.mark.parametrize(
    ("url", "redacted", "shown"),
    [
        ("valkeys://u:s3@h:1/2", "rediss://u:***@h:1/2", "h:1/2"),
        ("redis://:s3@[::1]", "redis://:***@[::1]:6379", "[::1]:6379"),
        ("unix:///a%20b?db=1", "unix:///a%20b?db=1", "/a b (database 1)"),
        ("redis+sentinel://h1,h2/m/3", "redis+sentinel://h1:26379,h2:26379/m/3", "h1:26379,h2:26379/m/3"),
        ("redis+cluster://:s3@h1,h2", "redis+cluster://:***@h1:6379,h2:6379", "h1:6379,h2:6379"),
    ],
)
def test_an_address_is_shown_without_its_password(url: str, redacted: str, shown: str) -> None:
    address = parse(url)
    assert (address.redacted, address.shown, str(address)) == (redacted, shown, redacted)


# A marker that no sentence of ours holds, inside any text: a lone "a" would be found in every sentence.
PASSWORDS = st.builds(
    lambda before, after: f"{before}Zq7{after}", st.text(max_size=8), st.text(string.printable, max_size=8)
)
SHAPES = st.sampled_from(
    [
        "redis://user:{}@host:6379/0",
        "redis://:{}@host",
        "redis://{}@host",
        "redis://user:{}",
        "redis://{}",
        "redis://host/{}",
        "unix://user:{}@/run/x.sock",
        "unix:///run/{}?db={}",
        "redis+sentinel://:{}@h1,h2/main",
        "redis+cluster://:{}@h1:{}/1",
        "{}://host",
        "{}",
    ]
)


def everything_printed(url: str) -> str:
    """All that a log could get to see of reading this URL."""
    try:
        address = parse(url)
    except BadInput as error:
        return "".join(traceback.format_exception(error)) + repr(error.__context__)
    if not address.password or "Zq7" not in address.password:
        return ""  # well formed, and what the marker stands in is a host or a path
    return f"{address!r} {address} {address.redacted} {address.shown}"


@given(SHAPES, PASSWORDS)
def test_no_url_gives_its_password_away(shape: str, password: str) -> None:
    assert "Zq7" not in everything_printed(shape.replace("{}", password))


@given(st.text(min_size=1), st.text(min_size=1))
def test_an_encoded_user_and_password_are_read_back_exactly(user: str, password: str) -> None:
    address = parse(f"redis://{quote(user, safe='')}:{quote(password, safe='')}@host")
    assert (address.username, address.password) == (user, password)


def test_a_password_that_cannot_be_sent_is_refused_without_showing_it() -> None:
    with pytest.raises(BadInput, match="not UTF-8") as caught:
        parse("redis://h", password="s3cr3t\udcff")
    assert "s3cr3t" not in str(caught.value)
