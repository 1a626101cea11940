"""What `oncue doctor` finds out about time zones: which rules this host has, and which are in force in the store."""

from collections.abc import Iterator, Mapping
from functools import partial

from oncue.cli.finding import Finding
from oncue.common.clock import sleep_s
from oncue.common.store import Store
from oncue.common.zonerules import DIGEST_BYTES, ZoneRules, own_rules, own_source


def zone_findings(store: Store) -> Iterator[Finding]:
    """The release of tz data here and in the store, with advice where the two differ. Raises what the store raises."""
    release, where = own_source()
    yield Finding("time zone data", f"{release or 'unknown'} ({where})")
    in_force = _in_force(store)
    if in_force:
        releases = sorted({shown.decode(errors="replace") or "unknown" for _, shown in in_force.values()})
        yield Finding("time zone rules in force", ", ".join(releases), _advice(in_force))


def _in_force(store: Store) -> Mapping[str, tuple[bytes, bytes]]:
    """Digest and release of each zone."""
    found: dict[str, tuple[bytes, bytes]] = {}
    for shard in store.shards:
        look = partial(shard.command, "HGETALL", shard.keys.zones)
        # Not by store.persist, which asks first whether the server is fit: that is what the doctor is about to say.
        fields: dict[bytes, bytes] = store.link.call(look, store.patience_s, sleep_s)
        for name, about in fields.items():
            if name[:1] not in (b"=", b"!"):
                found[name.decode(errors="replace")] = about[:DIGEST_BYTES], about[DIGEST_BYTES + 1 :]
    return found


def _advice(in_force: Mapping[str, tuple[bytes, bytes]]) -> str:
    newer, older = [], []
    for name, (digest, release) in sorted(in_force.items()):
        own = _own(name)
        if own is None or (own.digest != digest and own.version.encode() <= release):
            older.append(name)
        elif own.digest != digest:
            newer.append(name)
    sentences = []
    if older:
        sentences.append(
            f"this host has older ones of {_some(older)}: update its tz data; it goes by the store's"
        )
    if newer:
        sentences.append(
            f"this host has newer ones of {_some(newer)}: a scheduler that starts here brings them"
        )
    return "; ".join(sentences)


def _own(name: str) -> ZoneRules | None:
    try:
        return own_rules(name)
    except (KeyError, ValueError, OSError):
        return None


def _some(names: list[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more
