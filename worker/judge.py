"""Judge: what an ended run means for its task, by what the handler returned or raised and by the retry policy."""

import logging
import random
from collections.abc import Mapping

from oncue.common import record, result
from oncue.common.answers import Bury as BuryAnswer
from oncue.common.answers import Cancelled, HandBack, Interrupt, Later, Snooze, Throttled
from oncue.common.due import LAST_MS
from oncue.common.errors import BadInput, LeaseLost
from oncue.common.handler import Handler
from oncue.common.retry import RetryPolicy
from oncue.common.task import Task
from oncue.worker.outcome import Abandon, Bury, Counted, Done, Outcome, Release, Retry, failure

MOST_RESULT_BYTES = 1 << 20
"""Of one result; a handler that returns more buries its task."""

_log = logging.getLogger("oncue.worker")


class Judge:
    """The handlers' settings and policies, by queue."""

    def __init__(self, handlers: Mapping[str, Handler], policies: Mapping[str, RetryPolicy]) -> None:
        """``policies``: what the configuration says of queues, each with a default."""
        usual = RetryPolicy()
        self._handlers = handlers
        self._policies = {
            queue: handler.policy(policies.get(queue, usual)) for queue, handler in handlers.items()
        }

    def policy(self, task: Task) -> RetryPolicy:
        """What goes for this task: its own settings, over its handler's, over its queue's."""
        policy = self._policies.get(task.queue) or RetryPolicy()
        changes = task.options.get("retry")
        if not changes:
            return policy
        try:
            return policy.changed(changes if isinstance(changes, dict) else {"retry": changes})
        except BadInput as error:
            # Written by a later version, or by nobody of ours.
            _log.warning("task %s: %s; its queue's policy goes", task.id, error)
            return policy

    def refusal(self, task: Task, now_ms: int) -> Bury | None:
        """The end of a task that has taken too many workers along, before it takes this one."""
        if not task.lost or task.lost <= (policy := self.policy(task)).max_lost:
            return None
        error = LeaseLost(f"its worker died or hung {task.lost} times, each time losing the lease")
        return self._buried(task, error, "nothing", policy, now_ms)

    def returned(self, task: Task, value: object, now_ms: int) -> Outcome:
        """The handler has returned ``value``."""
        handler = self._handlers.get(task.queue)
        if handler is None or not handler.keep_result_s:
            return Done(task)
        try:
            body, raw = record.encoded(value, MOST_RESULT_BYTES)
        except BadInput as error:
            # The work is done: to do it again would not make its result any better.
            said = BadInput(f"what the handler returned cannot be kept as its result: {error}")
            return self._buried(task, said, "failed", self.policy(task), now_ms)
        keep_ms = max(1, round(handler.keep_result_s * 1000))
        return Done(task, result.kept(body, raw, now_ms + keep_ms), keep_ms)

    def raised(self, task: Task, error: BaseException, now_ms: int) -> Outcome:
        """The handler has raised ``error``."""
        if isinstance(error, Cancelled):
            return Abandon(task)
        if isinstance(error, HandBack):
            return Release(task)
        if isinstance(error, Snooze):
            return Retry(task, _later(error, 0.0, now_ms), b"", "nothing")
        policy = self.policy(task)
        if isinstance(error, (Throttled, policy.throttle_for)):
            return self._throttled(task, error, policy, now_ms)
        if _is_permanent(error, policy) or task.failed + 1 >= policy.max_attempts:
            return self._buried(task, error, "failed", policy, now_ms)
        due_ms = _later(error, policy.delay_s(task.failed + 1, random.random), now_ms)
        return Retry(task, due_ms, failure(error, now_ms))

    def _throttled(self, task: Task, error: BaseException, policy: RetryPolicy, now_ms: int) -> Outcome:
        times = task.throttled + 1
        if times > policy.max_throttled:
            return self._buried(task, error, "throttled", policy, now_ms)
        due_ms = _later(error, policy.backoff_s(times, random.random), now_ms)
        return Retry(task, due_ms, failure(error, now_ms), "throttled")

    @staticmethod
    def _buried(task: Task, error: BaseException, counted: Counted, policy: RetryPolicy, now_ms: int) -> Bury:
        # A task that has left the hand is not buried: what its handler did afterwards does not count.
        if policy.before_bury is not None and task.left is None:
            try:
                policy.before_bury(task, error)
            except BaseException:  # noqa: BLE001 - the task is to be buried, whatever the user's code does
                _log.exception("task %s: before_bury has failed", task.id)
        return Bury(task, failure(error, now_ms), counted)


def _later(error: BaseException, delay_s: float, now_ms: int) -> int:
    """The instant that the handler asked for, else that of the policy; never beyond what the store can hold."""
    asked = error.due_ms(now_ms) if isinstance(error, Later) else None
    return round(min(now_ms + delay_s * 1000, LAST_MS)) if asked is None else min(asked, LAST_MS)


def _is_permanent(error: BaseException, policy: RetryPolicy) -> bool:
    if isinstance(error, (BuryAnswer, policy.bury_for)):
        return True
    # A handler that asks for a retry, or was stopped from outside, has not said which errors of its own may pass.
    may_pass = isinstance(error, (Later, Interrupt)) or not policy.retry_for
    return not may_pass and not isinstance(error, policy.retry_for)
