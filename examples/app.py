"""The app of `make run`: handlers for three queues. The terminal shows each run with its lateness."""

from datetime import UTC, datetime, timedelta

import oncue

app = oncue.App()


@app.handler("heartbeat")
def heartbeat(task: oncue.Task) -> None:
    """Comes every few seconds, from the schedule of that name in examples/oncue.yaml."""


@app.handler("reports")
def report(task: oncue.Task) -> None:
    """Makes a report, and three e-mails about it that are due a little later: delayed tasks made by a handler."""
    ready = datetime.now(UTC)
    app.schedule_many(
        oncue.NewTask(
            ready + timedelta(seconds=seconds),
            {"to": f"reader-{number}@example.org", "about": task.id},
            queue="emails",
            # Derived from the task: should this report run twice, its readers still get one e-mail each.
            id=f"{task.id}-{number}",
        )
        for number, seconds in enumerate((2, 4.5, 7.25))
    )


@app.handler("emails")
def email(task: oncue.Task) -> None:
    """Here an e-mail would be sent to task.data["to"]."""
