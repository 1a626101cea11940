"""The strict reader of one field of a cron expression: text in, the set of its values out.

The rules are those of crontab(5) with the day marks of Quartz (`L`, `LW`, `nW`, `dL`, `d#k`) and the spread `H` of
Jenkins. What the classic readers let through in silence (reversed ranges, a star as a prefix, a step of nothing) is
refused here with the field, what was found, what is allowed, and a rewrite.
"""

import hashlib
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, NoReturn

from oncue.common.errors import CronError

_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_WEEKDAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
_WHOLE_NAMES = (
    *("january", "february", "march", "april", "may", "june", "july", "august", "september", "october"),
    *("november", "december", "sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"),
)
_HASH = re.compile(r"h(?:\(([^()]*)\))?")
_NEAREST = re.compile(r"([0-9]+)w")
_BACK = re.compile(r"l-([0-9]{1,2})")
_NAME = re.compile(r"[a-z]+")
_SUNDAY = 7


@dataclass(frozen=True, slots=True)
class Kind:
    """What one place in the expression allows: values in [low, high]; `cycle` of them make the next unit.

    `cycle` is 0 for day-of-month, because months differ in length. `H` alone reaches up to `hash_high`.
    """

    name: str
    low: int
    high: int
    cycle: int
    names: tuple[str, ...] = ()
    hash_high: int | None = None

    def allowed(self) -> str:
        """The allowed values in words, for the sentence of a refusal."""
        if self.name == "day-of-week":
            return "0-7 (0 and 7 are Sunday) or sun-sat"
        return f"{self.low}-{self.high}" + (f" or {self.names[0]}-{self.names[-1]}" if self.names else "")


SECOND = Kind("second", 0, 59, 60)
MINUTE = Kind("minute", 0, 59, 60)
HOUR = Kind("hour", 0, 23, 24)
# H ends at 28, because a schedule spread onto the 30th would lose February.
DAY_OF_MONTH = Kind("day-of-month", 1, 31, 0, hash_high=28)
MONTH = Kind("month", 1, 12, 12, tuple(_MONTHS))
DAY_OF_WEEK = Kind("day-of-week", 0, 6, 7, tuple(_WEEKDAYS))


@dataclass(frozen=True, slots=True)
class Mark:
    """A day that depends on the month: kind is last, last-workday, nearest-workday, last-weekday or nth-weekday."""

    kind: str
    day: int = 0
    nth: int = 0


class Step(NamedTuple):
    """A step as written, for warnings: whether it runs to the end of the field, and whether it leads to one value only."""

    size: int
    to_the_end: bool
    alone: bool


@dataclass(frozen=True, slots=True)
class Field:
    """One field as read: plain values (weekdays 0-6 from Sunday), day marks, and how it was written."""

    kind: Kind
    text: str
    values: frozenset[int]
    marks: tuple[Mark, ...]
    steps: tuple[Step, ...]

    @property
    def starred(self) -> bool:
        """Whether it starts with `*` or is `?`: then both day fields must match, as in Debian's cron."""
        return self.text[0] in "*?"

    @property
    def elapsed(self) -> bool:
        """Whether it makes the schedule follow elapsed time: it starts with `*` or is spread by `H/n`."""
        return self.text.lower().startswith(("*", "h/"))

    @property
    def full(self) -> bool:
        """Whether every value of the field matches."""
        return len(self.values) == self.kind.high - self.kind.low + 1


def read_field(kind: Kind, text: str, seed: str = "") -> Field:
    """Read one field. `seed` (the schedule's name) settles `H`. Raises CronError naming the field."""
    # Without H the seed changes nothing; leaving it out lets ten thousand schedules share their fields.
    return _read_cached(kind, text, seed if "h" in text.lower() else "")


@lru_cache(maxsize=4096)
def _read_cached(kind: Kind, text: str, seed: str) -> Field:
    return _Reader(kind, text, seed).read()


def spread(seed: str, name: str, size: int) -> int:
    """A number in [0, size) for schedule `seed` in field `name`, the same on every host and in every release.

    The field is hashed with the name, else minute and hour move together and 240 of 1,440 pairs are all that is used.
    """
    digest = hashlib.sha256(f"{seed}\0{name}".encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") % size


class _Reader:
    """Reads one field once."""

    def __init__(self, kind: Kind, text: str, seed: str) -> None:
        self.kind, self.text, self.seed = kind, text, seed
        self.found = text
        self.values: set[int] = set()
        self.marks: list[Mark] = []
        self.steps: list[Step] = []

    def read(self) -> Field:
        if self.text == "?" and self.kind in (DAY_OF_MONTH, DAY_OF_WEEK):
            self.values.update(range(self.kind.low, self.kind.high + 1))
        else:
            for item in self.text.split(","):
                self.found = item or self.text
                self._item(item.lower())
        return Field(
            self.kind, self.text, frozenset(self.values), tuple(dict.fromkeys(self.marks)), tuple(self.steps)
        )

    def _item(self, item: str) -> None:
        if not item:
            self._refuse("syntax", "a list has one value between two commas")
        mark = self._mark(item)
        if mark:
            self.marks.append(mark)
            return
        body, slash, step_text = item.partition("/")
        step = self._step(step_text) if slash else 1
        first, last = self._bounds(body, step, bool(slash))
        if slash:
            self.steps.append(Step(step, last >= self.kind.high, first + step > last))
        self.values.update(self._fold(value) for value in range(first, last + 1, step))

    def _bounds(self, body: str, step: int, stepped: bool) -> tuple[int, int]:
        """First and last value of an item, both allowed."""
        spread_over = _HASH.fullmatch(body)
        if body == "*":
            return self.kind.low, self.kind.high
        if spread_over:
            return self._hashed(spread_over[1], step, stepped)
        if "-" in body:
            return self._range(body, step)
        value = self._fold(self._value(body))
        return value, self.kind.high if stepped else value

    def _hashed(self, within: str | None, step: int, stepped: bool) -> tuple[int, int]:
        """`H`, `H/n`, `H(a-b)` and `H(a-b)/n`: a place that the schedule's name settles."""
        first, last = self.kind.low, self.kind.hash_high or self.kind.high
        if within is not None:
            if "-" not in within:
                self._refuse("syntax", "write H(a-b) with the first and the last value")
            first, last = self._hash_range(within)
        size = last - first + 1
        value = first + spread(self.seed, self.kind.name, min(step, size) if stepped else size)
        return value, last if stepped else value

    def _hash_range(self, within: str) -> tuple[int, int]:
        left, _, right = within.partition("-")
        first, last = self._value(left), self._value(right)
        if first > last:
            ends = f"H({_dash(first, self.kind.high)}) or H({_dash(self.kind.low, last)})"
            self._refuse("order", f"no spread runs over the end of its field; write {ends}")
        return first, last

    def _range(self, body: str, step: int) -> tuple[int, int]:
        left, _, right = body.partition("-")
        first, last = self._value(left), self._value(right)
        if right == _WEEKDAYS[0] and self.kind is DAY_OF_WEEK and first > 0:
            last = _SUNDAY
        if first > last:
            self._refuse("order", f"write {self._unwrapped(first, last, step)}")
        return first, last

    def _unwrapped(self, first: int, last: int, step: int) -> str:
        """The rewrite of a range that runs over the end of its field."""
        low, high = self.kind.low, self.kind.high
        if self.kind is DAY_OF_WEEK and last == 0:
            return f"{first}-{_SUNDAY}"
        if step == 1:
            return f"{_dash(first, high)},{_dash(low, last)}" if first <= high else _dash(low, last)
        wrapped = list(range(first, last + high - low + 2, step))
        return ",".join(str((value - low) % (high - low + 1) + low) for value in wrapped)

    def _value(self, text: str) -> int:
        """One value by number or name; 7 stays 7 here, because it ends a range."""
        if text.isascii() and text.isdigit():
            return self._in_range(int(text))
        if text in self.kind.names:
            return self.kind.names.index(text) + self.kind.low
        if text.isascii() and text.isalpha() and self.kind.names:
            self._refuse_name(text)
        self._refuse("syntax", self._advice(text))

    def _in_range(self, value: int) -> int:
        highest = _SUNDAY if self.kind is DAY_OF_WEEK else self.kind.high
        if not self.kind.low <= value <= highest:
            if not self.found.isdigit():  # what is nearest to one part is none of the whole
                self._refuse("range", f"{value} is none of them")
            wraps = value == self.kind.high + 1 and self.kind.low == 0
            nearest = min(max(value, self.kind.low), highest)
            self._refuse("range", "write 0 instead" if wraps else f"write {nearest} for the nearest")
        return value

    def _step(self, text: str) -> int:
        if not (text.isascii() and text.isdigit()):
            self._refuse("syntax", "a step is one whole number after one slash, as in */5")
        if int(text) == 0:
            self._refuse("step", "a step is at least 1")
        return int(text)

    def _mark(self, item: str) -> Mark | None:
        if self.kind is DAY_OF_MONTH:
            return self._month_mark(item)
        if self.kind is DAY_OF_WEEK:
            return self._week_mark(item)
        return None

    def _month_mark(self, item: str) -> Mark | None:
        if item in ("l", "lw"):
            return Mark("last" if item == "l" else "last-workday")
        nearest = _NEAREST.fullmatch(item)
        return Mark("nearest-workday", self._in_range(int(nearest[1]))) if nearest else None

    def _week_mark(self, item: str) -> Mark | None:
        day, sharp, count = item.partition("#")
        if sharp:
            if count not in ("1", "2", "3", "4", "5"):
                self._value(day)
                is_number = count.isascii() and count.isdigit()
                last = f"; write {day}L for the last of the month" if is_number and int(count) > 5 else ""
                self._refuse("range" if is_number else "syntax", f"the number after # is 1 to 5{last}")
            return Mark("nth-weekday", self._fold(self._value(day)), int(count))
        if len(item) > 1 and item.endswith("l"):
            return Mark("last-weekday", self._fold(self._value(item[:-1])))
        return None

    def _fold(self, value: int) -> int:
        return value % _SUNDAY if self.kind is DAY_OF_WEEK else value

    def _advice(self, text: str) -> str:
        if text.startswith("*") and text[1:].isdigit():
            return f"write */{text[1:]} for every {text[1:]}, or * alone"
        if text == "?":
            behind = self.kind is MONTH  # the days of an expression with a year at its end
            return "? stands only for a day field" + ("; is there a year?" if behind else "; write *")
        if text.startswith("r"):
            return "R is drawn anew at every start; write H, which is spread by the schedule's name"
        if self.kind is DAY_OF_MONTH and (back := _BACK.fullmatch(self.found.lower())):
            if not 1 <= int(back[1]) <= 30:
                return "L is the last day alone"
            rule = f"rrule: FREQ=MONTHLY;BYMONTHDAY=-{int(back[1]) + 1}"
            days = "the day" if int(back[1]) == 1 else f"{int(back[1])} days"
            return f"L is the last day alone; for {days} before it, write {rule}"
        if text.startswith("l") and self.kind is DAY_OF_WEEK:
            return "write the weekday before L, as in 5L for the last Friday of the month"
        if "#" in text or "l" in text or "w" in text:
            of_month, of_week = "L, LW and 15W belong to day-of-month", "5L and 5#2 belong to day-of-week"
            places = {DAY_OF_MONTH: of_week, DAY_OF_WEEK: of_month}
            return places.get(self.kind, f"{of_month}, 5L and 5#2 to day-of-week")
        return "write numbers, lists 1,2, ranges 1-5 or steps */5"

    def _refuse_name(self, text: str) -> NoReturn:
        # Of all names in it: a range has two.
        short = _NAME.sub(lambda name: _short(name[0]), self.found.lower())
        known = all(name in self.kind.names for name in _NAME.findall(short))
        self._refuse("name", f"write {short}" if known else self._advice(text))

    def _refuse(self, code: str, rewrite: str) -> NoReturn:
        name = self.kind.name
        text = f"{name} field: found {self.found!r:.60}; allowed are {self.kind.allowed()}"
        raise CronError(f"{text}; {rewrite}" if rewrite else text, field=name, code=code)


def _short(name: str) -> str:
    """The three letters of a month or weekday that is written out, or cut off elsewhere; else the name itself."""
    return name[:3] if any(len(name) > 2 and whole.startswith(name) for whole in _WHOLE_NAMES) else name


def _dash(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"
