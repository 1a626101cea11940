"""A call of each script that fits its contract, on a shard that is full."""

from __future__ import annotations

from collections.abc import Callable

from oncue.common.keys import page_of
from tests.lua.calls import Call
from tests.lua.instants import KEEP, LEASE, NOW, far
from tests.lua.schedule_calls import RULES, ZONE
from tests.lua.scripts import Lua
from tests.lua.tasks import MANY, Asked, Held, Task, tasks

DUE = NOW + 1000
FAR = far()
SAME = tasks(MANY + 8, DUE)
HELD = [Held("held0", 0), Held("held1", 0)]
LEASES = [held.lease for held in HELD]
BUCKET = SAME[0].bucket
CHOSEN = Task("n1", nonce=b"12345678")
KEYED = Task("keyed", NOW, nonce=b"12345678", claim=b"dq:key")

VALID: dict[str, Callable[[Lua, list[Held]], Call]] = {
    "schedule": lambda lua, held: lua.schedule(NOW, CHOSEN, Task("n2", DUE + 1), Task("n3", FAR)),
    "schedule_one": lambda lua, held: lua.schedule_one(CHOSEN._replace(due=FAR)),
    "open_page": lambda lua, held: lua.open_page(NOW, page_of(FAR), Task("", FAR).bucket),
    "promote": lambda lua, held: lua.promote(DUE, [("q", 5)], BUCKET),
    "reserve": lambda lua, held: lua.reserve(NOW, Asked("r", 2), Asked("q"), segments=[BUCKET]),
    "complete": lambda lua, held: lua.complete(NOW, *held, kept={"held0": (b"1", 5)}),
    "commit": lambda lua, held: lua.commit(NOW, held[0], ("SET", lua.keys.prefix + b"own:x", "1")),
    "abandon": lambda lua, held: lua.abandon(NOW, *held),
    "retry": lambda lua, held: lua.retry(NOW, DUE, *held),
    "bury": lambda lua, held: lua.bury(NOW, *held),
    "release": lambda lua, held: lua.release(NOW, *held),
    "renew": lambda lua, held: lua.renew(NOW + 5, *held),
    "reclaim": lambda lua, held: lua.reclaim(NOW + LEASE, *LEASES),
    "guard": lambda lua, held: lua.guard(NOW + 500, "q", "r"),
    "unique": lambda lua, held: lua.unique(NOW, KEYED, "running", NOW + 9),
    "debounce": lambda lua, held: lua.debounce(NOW, KEYED, NOW + 50, old=Task("far", FAR)),
    "purge": lambda lua, held: lua.purge(NOW, "held0"),
    "trim": lambda lua, held: lua.trim(NOW, 5, 1000, 2, 3000),
    "redrive": lambda lua, held: lua.redrive(NOW, Task("held0")),
    "list_dead": lambda lua, held: lua.list_dead("newest", NOW, "x"),
    "list_tasks": lambda lua, held: lua.list_tasks(),
    "sweep": lambda lua, held: lua.sweep(NOW + KEEP),
    "fire": lambda lua, held: lua.fire(NOW, "report", NOW, NOW + 60_000, Task("tick", NOW)),
    "put_schedule": lambda lua, held: lua.put_schedule("third", NOW),
    "remove_schedule": lambda lua, held: lua.remove_schedule("report"),
    "hand_over": lambda lua, held: lua.hand_over("report"),
    "arrive": lambda lua, held: lua.arrive("fourth", b"h1{}", {"moved": "1"}, b"{}", backfilled=[5]),
    "put_off": lambda lua, held: lua.put_off(NOW, "report", NOW, "h1"),
    "claim_zones": lambda lua, held: lua.claim_zones((ZONE, RULES, "2026a", "data")),
    "replan": lambda lua, held: lua.replan("report", NOW + 1),
    "trigger": lambda lua, held: lua.trigger(NOW, "report", Task("tick", NOW)),
    "pause": lambda lua, held: lua.pause(NOW, "report"),
    "resume": lambda lua, held: lua.resume(NOW, "other", NOW, (NOW, NOW, 1)),
    "claim_revision": lambda lua, held: lua.claim_revision("file", "r1", order=7),
    "survey": lambda lua, held: lua.survey(),
    "locate": lambda lua, held: lua.locate(NOW, "held0"),
    "cancel": lambda lua, held: lua.cancel(NOW, SAME[0], Task("far", FAR)),
    "reschedule": lambda lua, held: lua.reschedule(NOW, FAR + 1, SAME[0], Task("far", FAR)),
}
