"""`oncue doctor`: whether the server is fit, and how far and how different its clock is."""

import typer

from oncue.cli.failure import NO
from oncue.cli.options import CONNECTION, Given, Json, settings
from oncue.cli.output import print_json, print_table


@settings(*CONNECTION)
def doctor(given: Given, as_json: Json = False) -> None:
    """Look the server over: version, mode, settings that would lose tasks, distance, clocks.

    Exit code 1: something is wrong; the column "advice" says what to do.

    Example: oncue doctor --url redis://localhost:6379/0
    """
    from oncue.cli.findings import findings
    from oncue.cli.oneshot import opened_store

    with opened_store(given) as store:
        found = findings(store)
    well = all(finding.well for finding in found)
    if as_json:
        entries = [
            {"name": entry.name, "value": entry.value, "ok": entry.well, "advice": entry.advice or None}
            for entry in found
        ]
        print_json({"ok": well, "findings": entries})
    else:
        print_table(
            ("", "what", "found", "advice"),
            [("ok" if entry.well else "WRONG", entry.name, entry.value, entry.advice) for entry in found],
        )
    if not well:
        raise typer.Exit(NO)
