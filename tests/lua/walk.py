"""A walk through every script and each of its ways, for tests that watch what the server is asked meanwhile."""

from __future__ import annotations

from itertools import count

from oncue.common.keys import PAGE_MS, page_of
from tests.lua.instants import KEEP, LEASE, NOW, far, opening
from tests.lua.schedule_calls import RULES, ZONE, Tick, fired
from tests.lua.scripts import Lua
from tests.lua.tasks import MANY, Asked, Task, tasks

DUE = NOW + 1000
FAR = far()
NEWER = "f" * 16
"""The digest of the rules that are in force in the end."""


def walk(lua: Lua) -> None:
    """Leaves some tasks in every state."""
    _delayed(lua)
    _moved(lua)
    _cancelled(lua)
    _ready(lua)
    _answered(lua)
    _ended(lua)
    _claimed(lua)
    _schedules(lua)
    _late(lua)
    _used_again(lua)


def _late(lua: Lua) -> None:
    """What comes after its time: an expired task, a page that is opened when its tasks are due, a tick by hand."""
    lua.schedule(
        DUE, Task("stale", DUE, "z", nonce=b"12345678", expires=DUE + 1), Task("page-late", FAR + 9, "z")
    ).run()
    lua.take_all(DUE + 2, Asked("z"))
    lua.debounced(DUE, Task("calm", DUE + 900, "z", nonce=b"87654321", claim=b"dz:late"), 60_000)
    lua.open_whole_page(FAR + 60_000, page_of(FAR + 9))
    lua.put_schedule("by-hand", FAR, rules=NEWER).run()
    lua.trigger(FAR, "by-hand", Task("alone", FAR, "z"), queue="z").run()
    lua.trigger(FAR, "by-hand", Task("behind", FAR, "z"), queue="z").run()
    lua.abandon(FAR, *lua.take_all(FAR, Asked("z"))).run()
    lua.trigger(FAR, "by-hand", Task("third", FAR, "z"), queue="z").run()
    lua.trigger(FAR, "by-hand", Task("fourth", FAR, "z"), queue="z").run()
    lua.promote_due(FAR)
    for held in lua.take_all(FAR, Asked("z")):
        lua.commit(FAR, held).run()
    _wished(lua)


def _wished(lua: Lua) -> None:
    """Tasks whose cancel is wished while they run, each with another behind it."""
    lua.put_schedule("wished", far(FAR), rules=NEWER).run()
    for n in range(3):
        now = FAR + n
        lua.trigger(now, "wished", Task(f"wished{n}", now, "y"), queue="y").run()
        (held,) = lua.take_all(now, Asked("y"))
        lua.trigger(now, "wished", Task(f"after{n}", now, "y"), queue="y").run()
        lua.cancel_wherever(now, held.id)
        ends = (lua.retry(now, now, held), lua.release(now, held), lua.reclaim(now + LEASE, held.lease))
        ends[n].run()
        lua.cancel_wherever(now, f"after{n}")
    for name in ("ahead", "behind-it"):
        lua.trigger(FAR, "wished", Task(name, FAR, "y"), queue="y").run()
    for name in ("ahead", "behind-it"):
        lua.cancel_wherever(FAR, name)


def _used_again(lua: Lua) -> None:
    """Ids whose tasks are done or cancelled are given to others, by each script that takes ids."""
    now, name, numbers = FAR + LEASE, "used-again", count()
    lua.put_schedule(name, far(now), rules=NEWER).run()

    def ended(state: str, due: int) -> Task:
        """A task with the id of one that has ended so."""
        number = next(numbers)
        task = Task(f"used{number}", now, "v", nonce=b"%8d" % number)
        lua.schedule(now, task).run()
        if state == "done":
            lua.complete(now, *lua.take_all(now, Asked("v"))).run()
        else:
            lua.cancel_wherever(now, task.id)
        return task._replace(due=due, nonce=b"again%3d" % number)

    for state in ("done", "cancelled"):
        for due in (now, now + 500):
            lua.schedule(now, ended(state, due)).run()
            lua.unique(now, ended(state, due)._replace(claim=b"uv:%d" % next(numbers))).run()
            lua.debounced(now, ended(state, due)._replace(claim=b"dv:%d" % next(numbers)))
        lua.complete(now, *lua.take_all(now, Asked("v"))).run()
        again = [ended(state, now), ended(state, now)]
        lua.trigger(now, name, *again, forced=True, queue="v").run()
        lua.cancel_wherever(now, again[1].id)
        lua.cancel_wherever(now, again[0].id)


def _delayed(lua: Lua) -> None:
    lua.schedule(NOW, *tasks(MANY + 20, DUE), Task("lone", DUE + 1), Task("other", DUE, "x", 9)).run()
    lua.schedule(NOW, *tasks(30, FAR, prefix="page"), Task("late", 0), Task("id:with:colons", NOW, "x")).run()
    lua.schedule(NOW, Task("lone", DUE + 1)).run()
    for task in (Task("beside", FAR), Task("beside", FAR), Task("first", FAR + 10 * PAGE_MS)):
        lua.schedule_one(task).run()
    lua.locate(NOW, "lone", "late", "page0", "never", whole=True).run()
    lua.list_tasks().run()
    lua.survey().run()


def _cancelled(lua: Lua) -> None:
    waiting = [*tasks(30, FAR, prefix="page")[:12], *tasks(MANY + 20, DUE)[:25], Task("lone", DUE + 1)]
    for task in waiting:
        lua.cancel(NOW, task).run()
    lua.cancel(NOW, Task("late", 0), Task("page20", DUE), Task("never")).run()
    lua.cancel(opening(FAR), Task("page20", FAR)).run()
    lua.open_page(opening(FAR), page_of(FAR)).run()
    lua.open_whole_page(opening(FAR), page_of(FAR))


def _moved(lua: Lua) -> None:
    for due in (NOW - 1, DUE, DUE + 7, FAR, FAR + 60_000):
        lua.reschedule_wherever(NOW, "lone", due)
        lua.reschedule_wherever(NOW, "page25", due)
        lua.reschedule_wherever(NOW, f"t{MANY + 10}", due)
    lua.reschedule(NOW, DUE, Task("lone", 0), Task("never")).run()
    for task_id in ("lone", "page25"):
        lua.cancel_wherever(NOW, task_id)


def _ready(lua: Lua) -> None:
    lua.promote(DUE).run()
    lua.promote_due(DUE)
    lua.schedule(DUE - 1, Task("segment", DUE)).run()
    lua.take(DUE, Asked("q", 1, "9"), Asked("x", 3, "0"))
    lua.take(DUE, Asked("q"), Asked("x"), most=30, most_bytes=50)


def _answered(lua: Lua) -> None:
    held = lua.take_all(DUE, Asked("q"), Asked("x"))
    lua.renew(DUE + 1, *held[:5]).run()
    lua.complete(DUE + 1, *held[:10], kept={held[3].id: (b"r", 5000)}).run()
    lua.complete(DUE + 1, *held[:10]).run()
    lua.retry(DUE + 1, DUE, *held[10:12]).run()
    lua.retry(DUE + 1, DUE + 90, *held[12:14]).run()
    lua.retry(DUE + 1, far(DUE), *held[14:16]).run()
    lua.bury(DUE + 1, held[16]).run()
    lua.bury(DUE + 1, held[17], counted="throttled").run()
    lua.retry(DUE + 1, DUE + 91, held[20], counted="throttled").run()
    lua.retry(DUE + 1, DUE + 91, held[21], counted="nothing").run()
    own = lua.keys.prefix + b"own:walk"
    lua.commit(DUE + 1, held[24], ("HSET", own, "a", 1), ("DEL", own)).run()
    lua.commit(DUE + 1, held[24], ("HSET", own, "a", 1), ("DEL", own)).run()
    lua.abandon(DUE + 1, *held[22:24]).run()
    lua.abandon(DUE + 1, *held[22:24]).run()
    lua.release(DUE + 1, *held[18:20]).run()


def _ended(lua: Lua) -> None:
    ended = DUE + 5 * LEASE
    for allowed in (0, 3):
        leases = [member for member in lua.timetable() if member[:1] == b"l"][:5]
        lua.reclaim(ended, *leases, allowed=allowed).run()
    for queue in "qx":
        lua.client.lpop(lua.keys.wake(queue))
    _dead(lua, ended)
    lua.guard(ended, "q", "x").run()
    lua.sweep(ended + KEEP, 5).run()
    lua.sweep(ended + KEEP).run()


def _dead(lua: Lua, now: int) -> None:
    for name in ("p", "r", "s", "u", "v", "w"):
        held = lua.one(name, queue="z")
        if name == "w":
            lua.retry(NOW, NOW, held).run()
            (held,) = lua.take_all(NOW, Asked("z"))
        lua.bury(NOW, held).run()
    for order in ("oldest", "newest"):
        lua.list_dead(order, NOW).run()
        lua.list_dead(order, NOW, "s", 2).run()
    lua.purge(now, "p", "p", "never").run()
    lua.redrive(now, Task("r", queue="z"), Task("s", queue="z", band=7), Task("never"), Task("p")).run()
    lua.redrive(now, Task("s"), into="x").run()
    lua.trim(now, 1, 1, 1, 1).run()
    lua.trim(now, 100, 1_000_000).run()
    lua.trim(now, 100, 1).run()


def _claimed(lua: Lua) -> None:
    now = DUE + 10 * LEASE
    for n, due in enumerate((now, now, now + 50, far(now), far(now) + 1, now + 9, now)):
        lua.debounced(now, Task(f"d{n}", due, "c", nonce=b"%8d" % n, claim=b"dc:key"), 60_000)
        lua.unique(
            now, Task(f"u{n}", due, "c", nonce=b"%8d" % n, claim=b"uc:%d" % due), "running", now + 100_000
        ).run()
    lua.debounced(now, Task("d9", now + 50, "c", nonce=b"99999999", claim=b"dc:other"))
    held = lua.take_all(now, Asked("c"))
    lua.complete(now, *held).run()
    lua.sweep(now + KEEP).run()


def _schedules(lua: Lua) -> None:
    lua.put_schedule("report", DUE).run()
    lua.put_schedule("report", DUE).run()
    lua.fire(DUE, "report", DUE, DUE + 60_000, Task("tick", DUE)).run()
    lua.fire(DUE, "report", DUE, DUE + 60_000, Task("tick", DUE)).run()
    lua.fire(DUE + 60_000, "report", DUE + 60_000, DUE + 120_000, Task("tick2", DUE + 60_000)).run()
    _overlaps(lua, DUE + 120_000)
    lua.claim_revision("file", "r1").run()
    lua.put_schedule("report", DUE, "h2", file="file", revision="r1").run()
    lua.pause(DUE, "report").run()
    lua.put_schedule("report", DUE, "h3").run()
    lua.resume(DUE, "report", DUE, (DUE, DUE, 1), known="h3", stay=True).run()
    lua.resume(DUE, "report", DUE + 90_000, (DUE, DUE, 1), (DUE + 1, DUE + 9, 5), known="h3").run()
    _zones(lua, DUE + 90_000)
    lua.put_off(DUE + 90_000, "report", DUE + 90_000, "h3").run()
    lua.replan("report", DUE + 95_000, "h3", rules=NEWER).run()
    lua.put_off(DUE + 95_000, "report", DUE + 95_000, "h3").run()
    lua.replan("report", "stays", "h3", rules=NEWER).run()
    lua.put_schedule("report", None, "h4", rules=NEWER).run()
    lua.remove_schedule("report").run()
    lua.remove_schedule("report", for_good=True).run()
    lua.put_schedule("report", FAR, rules=NEWER).run()
    lua.hand_over("report", now=DUE).run()
    lua.remove_schedule("report", for_good=True, moved=str(DUE)).run()
    lua.arrive("report", b"h1{}", {"was": "active", "moved": str(DUE)}, b"{}", backfilled=[DUE]).run()
    lua.put_schedule("report", None, "h5", rules=NEWER).run()
    lua.remove_schedule("report", for_good=True).run()


def _overlaps(lua: Lua, now: int) -> None:
    ticks = (("line", "queue"), ("fire", "queue"), ("fire", "replace"), ("fire", "allow"))
    for n, (kind, overlap) in enumerate(ticks):
        at = now + n * 60_000
        tick = fired(Task(f"over{n}", at), at, kind)
        missed = Tick("missed", at - 9, "down", at - 5, 4)
        lua.fire_all(at, "report", at, at + 60_000, missed, tick, overlap=overlap).run()
    lua.trigger(now, "report", Task("by-hand", now), Task("again", now)).run()
    lua.trigger(now, "report", Task("past", now - 60_000), what="backfilled").run()
    lua.cancel(now, Task("over1"), Task("again"), Task("over3")).run()
    at = now + 4 * 60_000
    lua.put_schedule("report", at, "h1b").run()
    lua.fire(at, "report", at, None, Task("end", at), known="h1b", overlap="allow", every=1000).run()
    for held in lua.take_all(at):
        lua.complete(at, held).run()
    lua.promote_due(at)
    for held in lua.take_all(at):
        lua.bury(at, held).run()


def _zones(lua: Lua, at: int) -> None:
    lua.claim_zones((ZONE, RULES, "2026a", "old"), ("Mars/Base", "", "", "")).run()
    lua.claim_zones((ZONE, RULES, "2026a", "old")).run()
    lua.claim_zones((ZONE, NEWER, "2026b", "new")).run()
    lua.claim_zones((ZONE, RULES, "2026a", "old")).run()
    lua.fire(at, "report", at, None, Task("stale", at), known="h3").run()
    lua.put_schedule("report", at, "h3").run()
    lua.pause(at, "report").run()
    lua.resume(at, "report", at, known="h3").run()
    lua.resume(at, "report", at, known="h3", rules=NEWER).run()
    lua.client.hset(lua.keys.schedule("report"), "rules", RULES)
    lua.fire_all(at, "report", at, None, known="h3", rules=NEWER).run()
