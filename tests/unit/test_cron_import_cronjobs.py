"""CronJobs of Kubernetes: a value that is not understood leaves one out."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.importing import imported, run

MANIFESTS = """apiVersion: batch/v1
kind: CronJob
metadata: {name: hello}
spec:
  schedule: "*/5 * * * *"
  timeZone: Europe/Paris
  suspend: true
  concurrencyPolicy: Forbid
  startingDeadlineSeconds: 200
  jobTemplate:
    spec:
      backoffLimit: 3
      activeDeadlineSeconds: 90
      completions: 1
      template:
        spec:
          containers:
            - name: hello
              image: busybox
              command: ["/bin/sh", -c]
              args: ["date; echo $(A)"]
              workingDir: /srv
              env:
                - {name: A, value: "1"}
                - {name: B, valueFrom: {secretKeyRef: {name: s, key: k}}}
---
kind: List
items:
  - kind: CronJob
    metadata: {name: second}
    spec:
      schedule: CRON_TZ=Asia/Tokyo 0 3 * * *
      concurrencyPolicy: Replace
      jobTemplate: {spec: {template: {spec: {containers: [{image: b, args: [run]}]}}}}
  - kind: CronJob
    metadata: {name: third}
    spec: {schedule: "0 3 31 2 *"}
  - kind: Service
"""


def test_cronjobs_of_kubernetes(tmp_path: Path) -> None:
    found, result = imported(tmp_path, "jobs.yaml", MANIFESTS)
    assert list(found) == ["hello", "second"]
    hello = found["hello"]
    assert (hello.cron, hello.timezone, hello.enabled) == ("*/5 * * * *", "Europe/Paris", False)
    assert (hello.overlap, hello.catch_up_within_s, hello.runs) == ("skip", 200, "command")
    assert hello.retry == {"max_attempts": 4}
    assert hello.data == {
        "command": ["/bin/sh", "-c", "date; echo $(A)"],
        "env": {"A": "1"},
        "cwd": "/srv",
        "timeout_s": 90.0,
    }
    assert "image: busybox, completions: 1" in result.stdout
    assert "env B came from a secret" in result.stdout
    second = found["second"]
    assert (second.cron, second.timezone, second.overlap) == ("0 3 * * *", "Asia/Tokyo", "replace")
    assert "The image's own entrypoint was run" in result.stdout
    assert "left out: CronJob third: 0 3 31 2 *: " in result.stderr


@pytest.mark.parametrize(
    ("there", "here"),
    [
        ("0 0 */2 * 1", "0 0 1-31/2 * 1"),
        ("0 0 1 * */3", "0 0 1 * 0-6/3"),
        ("0 0 ?/2 * 1", "0 0 1-31/2 * 1"),
        ("0 0 */2 * *", "0 0 */2 * *"),
        ("0 0 */1 * 1", "0 0 */1 * 1"),
        ("0 0 13 * 5", "0 0 13 * 5"),
        ("0 0 * * 5", "0 0 * * 5"),
        ("@daily", "@daily"),
    ],
)
def test_a_day_of_a_cronjob_matches_as_kubernetes_has_it(tmp_path: Path, there: str, here: str) -> None:
    containers = "{containers: [{image: b, command: [run]}]}"
    job = f"jobTemplate: {{spec: {{template: {{spec: {containers}}}}}}}"
    manifest = f"kind: CronJob\nmetadata: {{name: a}}\nspec: {{schedule: '{there}', {job}}}\n"
    found, result = imported(tmp_path, "job.yaml", manifest)
    assert found["a"].cron == here
    assert ("is no star to Kubernetes" in result.stdout) == (there != here)


CRONJOB = """kind: CronJob
metadata: {name: payroll}
spec:
  schedule: "0 3 * * *"
  suspend: false
  jobTemplate:
    spec:
      backoffLimit: 0
      template: {spec: {containers: [{image: b, command: [run, "1"], env: [{name: A, value: "1"}]}]}}
"""


@pytest.mark.parametrize(
    ("good", "bad", "reason"),
    [
        ("suspend: false", "suspend: yes", "suspend: found text; write true or false"),
        ("suspend: false", "suspend: on", "suspend: found text; write true or false"),
        ("suspend: false", 'suspend: "true"', "suspend: found text; write true or false"),
        ("suspend: false", "suspend: 1", "suspend: found a number; write true or false"),
        ("suspend: false", "concurrencyPolicy: forbid", "forbid is none; write Allow, Forbid, Replace"),
        ("suspend: false", "concurrencyPolicy: no", "no is none; write Allow, Forbid, Replace"),
        ("suspend: false", "startingDeadlineSeconds: '9'", "found text; write a whole number"),
        ("backoffLimit: 0", "suspend: yes", "suspend: found text; write true or false"),
        ("backoffLimit: 0", "backoffLimit: true", "found a truth value; write a whole number"),
        ("backoffLimit: 0", "activeDeadlineSeconds: 1.5", "found a number; write a whole number"),
        ('"1"]', "true]", "command: found a truth value; write a text in quotes"),
        ('[run, "1"]', "run", "command: found text; write a list"),
        ('value: "1"', "value: 010", "env A: found a number; write a text in quotes"),
    ],
)
def test_a_cronjob_with_a_value_of_another_kind_is_left_out(
    tmp_path: Path, good: str, bad: str, reason: str
) -> None:
    found, result = imported(tmp_path, "job.yaml", CRONJOB)
    assert (result.exit_code, found["payroll"].enabled, found["payroll"].retry) == (
        0,
        True,
        {"max_attempts": 1},
    )
    found, result = imported(tmp_path, "job.yaml", CRONJOB.replace(good, bad))
    assert (result.exit_code, found) == (1, {})
    assert "left out: CronJob payroll: 0 3 * * *: " in result.stderr
    assert reason in result.stderr


@pytest.mark.parametrize("beside", ["suspend: false", "backoffLimit: 0"])
def test_a_cronjob_that_is_suspended_or_makes_suspended_jobs_is_not_enabled(
    tmp_path: Path, beside: str
) -> None:
    found, result = imported(tmp_path, "job.yaml", CRONJOB.replace(beside, "suspend: true"))
    assert (result.exit_code, found["payroll"].enabled) == (0, False)


def test_a_key_that_is_there_twice_in_a_manifest_is_refused(tmp_path: Path) -> None:
    result = run(tmp_path / "job.yaml", f"---\n{CRONJOB}  schedule: '0 4 * * *'\n")
    assert "job.yaml:11:3: the key 'schedule' is there twice: on line 5 and on line 11" in str(
        result.exception
    )
    assert result.stdout == ""
