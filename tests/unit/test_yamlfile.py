"""YAML without its traps: every refusal names the place and says what to write instead."""

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oncue.common import yamlfile
from oncue.common.errors import ConfigError
from oncue.common.problem import Refused
from oncue.common.scalar import Scalar
from oncue.common.yamlfile import Node, parse

NBSP = "\u00a0"


def plain(node: Node) -> object:
    """The tree without its places."""
    if isinstance(node.value, dict):
        return {key: plain(entry.node) for key, entry in node.value.items()}
    if isinstance(node.value, list):
        return [plain(item) for item in node.value]
    return node.value


def refusal(text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        parse("f.yaml", text)
    return str(caught.value)


def faults(text: str) -> list[str]:
    return [fault.sentence for fault in parse("f.yaml", text).faults]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12:30", "12:30"),
        ("on", "on"),
        ("no", "no"),
        ("yes", "yes"),
        ("010", 10),
        ("0o10", 8),
        ("0x1F", 31),
        ("-7", -7),
        ("1_000", "1_000"),
        ("2024-01-01", "2024-01-01"),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("true", True),
        ("FALSE", False),
        ("", None),
        ("~", None),
        ("null", None),
        ("'null'", "null"),
        ("!!str 5", "5"),
        ("! 5", "5"),
        ("&nightly 0 2 * * *", "0 2 * * *"),
        ("010 0 * * *", "010 0 * * *"),
        ('"0\\t0\\t*\\t*\\t*"', "0\t0\t*\t*\t*"),
        ("'0 0 L * *'", "0 0 L * *"),
        ("0 0 * * 5L", "0 0 * * 5L"),
        ("=", "="),
        ("9" * 5000, float("inf")),
    ],
)
def test_scalars_mean_what_yaml_1_2_says(text: str, value: Scalar) -> None:
    found = parse("f.yaml", f"cron: {text}\n").root.entries["cron"].node.value
    assert found == value
    assert type(found) is type(value)


def test_every_key_knows_its_line_and_column() -> None:
    entries = parse("f.yaml", "a: 1\nb:\n  c: {d: x}\n").root.entries
    inner = entries["b"].node.entries["c"]
    assert (entries["b"].line, entries["b"].column) == (2, 1)
    assert (inner.line, inner.column) == (3, 3)
    assert (inner.node.entries["d"].line, inner.node.entries["d"].column) == (3, 7)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("cron: * * * * *\n", 'f.yaml:1:7: cron: quote the cron expression: cron: "* * * * *"'),
        ("cron: */5 * * * *\n", 'f.yaml:1:7: cron: quote the cron expression: cron: "*/5 * * * *"'),
        ("a:\n  cron: @daily # x\n", 'f.yaml:2:9: cron: quote the cron expression: cron: "@daily"'),
        (
            "a: {cron: */5 * * * *, queue: q}",
            'f.yaml:1:11: cron: quote the cron expression: cron: "*/5 * * * *"',
        ),
        ("a: {cron: @every 5m}", 'f.yaml:1:11: cron: quote the cron expression: cron: "@every 5m"'),
        ("a: 1\r\ncron: */5 * * * *\r\n", 'f.yaml:2:7: cron: quote the cron expression: cron: "*/5 * * * *"'),
        ("a:\n  * * * * *\n", 'f.yaml:2:3: quote the cron expression: "* * * * *"'),
        ("- */5 * * * *\n", 'f.yaml:1:3: quote the cron expression: "*/5 * * * *"'),
    ],
)
def test_an_unquoted_cron_expression_is_shown_mended(text: str, sentence: str) -> None:
    assert refusal(text) == sentence


def test_an_unquoted_value_of_another_key_is_not_shown() -> None:
    for value in ("*hunter2", "@hunter2", "*hunter2 * * * *"):
        sentence = refusal(f"password: {value}\n")
        assert sentence == f"f.yaml:1:11: a value that starts with '{value[0]}' must be quoted"


def test_a_duplicate_key_is_refused_with_both_lines() -> None:
    assert faults("a: 1\nb: 2\na: 3\n") == [
        "f.yaml:3:1: the key 'a' is there twice: on line 1 and on line 3; delete one, or give it another name"
    ]
    assert faults("s:\n  n: {cron: x, cron: y}\n  n: {}\n") == [
        "f.yaml:2:16: the key 'cron' is there twice: on line 2 and on line 2; delete one, or give it another name",
        "f.yaml:3:3: the key 'n' is there twice: on line 2 and on line 3; delete one, or give it another name",
    ]


def test_the_same_key_quoted_or_not_is_still_a_duplicate() -> None:
    assert len(faults("on: 1\n'on': 2\n!!str on: 3\n")) == 2


@pytest.mark.parametrize(
    "text",
    [
        f"{NBSP}a: 1\n",
        f"a:{NBSP}1\nb: 2\n",
        f"a:\n  b: 1\n{NBSP} c: 1\n d: 1\n",
        f"a{NBSP}b: 1\n",
        f"- a\n{NBSP}- b: 1: 2",
    ],
)
def test_a_non_breaking_space_is_refused_by_name(text: str) -> None:
    try:
        sentences = faults(text)
    except ConfigError as error:
        sentences = [str(error)]
    assert "a non-breaking space (U+00A0) stands" in sentences[0]
    assert sentences[0].startswith("f.yaml:")


def test_a_non_breaking_space_in_data_is_data() -> None:
    assert plain(parse("f.yaml", f"price: 10{NBSP}000\n").root) == {"price": f"10{NBSP}000"}


@pytest.mark.parametrize("key", ["1", "true", "~", "[a]", "1.5"])
def test_a_key_that_is_no_text_is_refused(key: str) -> None:
    assert "a key must be text, found" in faults(f"? {key}\n: x\n")[0]


def test_merge_keys_are_refused_in_plain_words() -> None:
    assert "merge keys ('<<') are not part of YAML 1.2" in faults("a: &a {x: 1}\nb: {<<: *a}\n")[0]


def test_an_alias_stands_for_its_anchor() -> None:
    assert plain(parse("f.yaml", "a: &a {x: [1]}\nb: *a\n").root) == {"a": {"x": [1]}, "b": {"x": [1]}}


def test_aliases_inside_aliases_are_refused_at_once() -> None:
    laughs = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    laughs += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 30)]
    started = time.process_time()
    assert refusal("\n".join(laughs)).startswith(
        "f.yaml:3:10: an alias for something that holds an alias itself"
    )
    assert time.process_time() - started < 1


def test_many_aliases_of_one_large_value_are_refused() -> None:
    text = f"a: &a {'x' * 100_000}\nb: [{'*a, ' * 100}]\n"
    assert "the aliases stand for more than 1048576 characters" in refusal(text)


def test_an_alias_of_itself_or_of_nothing_is_refused() -> None:
    assert refusal("a: &a [*a]\n") == "f.yaml:1:8: a value that starts with '*' must be quoted"
    assert refusal("a: *b\n") == "f.yaml:1:4: a value that starts with '*' must be quoted"


@pytest.mark.parametrize("opening", ["[", "{a: ", "- "])
def test_endless_nesting_is_refused_at_once(opening: str) -> None:
    started = time.process_time()
    assert "more than 64 levels inside each other" in refusal(opening * 100_000)
    assert time.process_time() - started < 5


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a: 1\n---\nb: 2\n", "f.yaml:2:1: a second document"),
        ("%YAML 1.1\n---\na: yes\n", "f.yaml:2:1: this file asks for another version of YAML"),
        ("a: !!python/object:os.system x\n", "f.yaml:1:4: tags other than !!str are not allowed"),
        ("a: !x {}\n", "f.yaml:1:4: tags other than !!str are not allowed"),
        ("a: !!int 5\n", "f.yaml:1:4: tags other than !!str are not allowed"),
        ("a:\n\tb: 1\n", "f.yaml:2:1: a tab cannot indent a line; use blanks"),
        ('a: "x\nb: 1\n', "f.yaml:1:4: this quote is never closed"),
        ("a: b: c\n", "f.yaml:1:5: a second ':' on a line"),
        ("a: `x`\n", "f.yaml:1:4: a value cannot start with this character"),
        ("a: {\n", "f.yaml:2:1: the file ends inside a bracket"),
        ("a:\n  - x\n b: 2\n", "f.yaml:3:2: this line is indented differently"),
        ("a: \x00", "f.yaml:1:4: a control character (U+0000) cannot stand in a YAML file"),
        ('a: "\\q"', "f.yaml:1:6: unknown escape after"),
        ('a: "\\ud800"', "f.yaml:1:4: half of a surrogate pair"),
        ('a: "\\U00110000"', "f.yaml: a character escape such as \\U00110000 is out of range"),
        ("a: %x", "f.yaml:1:4: "),
    ],
)
def test_what_is_no_plain_document_is_refused_with_its_place(text: str, sentence: str) -> None:
    assert refusal(text).startswith(sentence)


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n", "~\n"])
def test_an_empty_document_holds_nothing(text: str) -> None:
    assert parse("f.yaml", text).root.value is None


def test_a_file_is_read_with_or_without_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "f.yaml"
    path.write_bytes(b"\xef\xbb\xbfa: \xc3\xbc\r\n")
    document = yamlfile.read(str(path))
    assert plain(document.root) == {"a": "ü"}
    assert len(document.digest) == 64


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    for path, reason in ((tmp_path / "none", "No such file or directory"), (tmp_path, "Is a directory")):
        with pytest.raises(ConfigError) as caught:
            yamlfile.read(str(path))
        assert str(caught.value) == f"{path}: cannot be read: {reason}"
    with pytest.raises(ConfigError, match="not a path"):
        yamlfile.read("a\0b")


def test_a_file_above_the_limit_is_refused_before_it_is_parsed(tmp_path: Path) -> None:
    path = tmp_path / "f.yaml"
    path.write_bytes(b"#" * (yamlfile.MAX_BYTES + 1))
    with pytest.raises(ConfigError, match="larger than 1048576 bytes"):
        yamlfile.read(str(path))


def test_bytes_that_are_no_utf8_are_refused_with_their_place(tmp_path: Path) -> None:
    path = tmp_path / "f.yaml"
    path.write_bytes(b"a: 1\nb: \xff\n")
    with pytest.raises(ConfigError) as caught:
        yamlfile.read(str(path))
    assert str(caught.value).startswith(f"{path}:2:4: not UTF-8")


def test_a_refusal_lists_the_faults_found_before_it() -> None:
    with pytest.raises(Refused) as caught:
        parse("f.yaml", "a: 1\na: 2\nb: *x\n")
    assert [problem.line for problem in caught.value.problems] == [2, 3]


@given(st.text(alphabet=st.sampled_from("ab:-*&@[]{},#\"'|>%!? \n\t\u00a0\\0\r~<"), max_size=40))
def test_any_text_is_read_or_refused_in_one_line(text: str) -> None:
    try:
        document = parse("f.yaml", text)
        sentences = [fault.sentence for fault in document.faults]
    except ConfigError as error:
        sentences = [str(error)]
    assert all(sentence.startswith("f.yaml:") and "\n" not in sentence for sentence in sentences)


def test_a_file_of_endless_small_values_is_refused_before_it_is_read_to_its_end() -> None:
    started = time.process_time()
    text = f"a: [{'[],' * (yamlfile.MAX_BYTES // 3)}]"  # the slowest of many shapes that were tried
    assert "more than 75000 keys and values in one file, which is the limit" in refusal(text)
    assert time.process_time() - started < 8  # two to three seconds on an idle machine


def test_a_thousand_aliases_inside_aliases_are_refused_at_once() -> None:
    started = time.process_time()
    nested = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 1001))
    assert "an alias for something that holds an alias itself" in refusal(nested)
    assert time.process_time() - started < 1


def test_a_brace_that_is_never_closed_is_named_in_plain_words() -> None:
    for text in ("a: {b: 1\n", "a: [1, 2\n"):
        assert refusal(text).endswith("the file ends inside a bracket or brace that is never closed")
