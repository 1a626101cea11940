"""Steps of a walk beside a model: rules for hypothesis, and what `wander` takes by the thousand from one seed.

Hypothesis bounds how much an example may draw, at some tens of steps; what a shard gathers in a long life needs more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any, TypeVar, cast

from hypothesis import strategies as st
from hypothesis.stateful import rule

CHANCE: Sequence[Any] = ()
"""Stands for a random generator, with which a step picks among the tasks that there are."""

S = TypeVar("S", bound=Callable[..., None])


def step(**choices: Sequence[Any]) -> Callable[[S], S]:
    """A rule of a state machine, each argument of which is one of some choices."""
    strategies: dict[str, Any] = {
        name: st.randoms(use_true_random=False) if values is CHANCE else st.sampled_from(values)
        for name, values in choices.items()
    }

    def mark(method: S) -> S:
        made = cast(S, rule(**strategies)(method))  # type: ignore[no-untyped-call]
        setattr(made, "choices", choices)  # noqa: B010 - a function has no such attribute for type checkers
        return made

    return mark


EVERY = 10
"""How many steps a walk takes between two looks at all that there is: a look costs as much as they do."""


def wander(machine: Any, seed: int, number: int, always: Sequence[str]) -> None:
    """So many steps of one machine, with calls of the methods ``always`` in between."""
    chance = Random(seed)
    steps = {
        name: choices
        for name in dir(type(machine))
        if (choices := getattr(getattr(type(machine), name), "choices", None)) is not None
    }
    for at in range(number):
        name, choices = chance.choice([*steps.items()])
        given = {
            argument: chance if values is CHANCE else chance.choice(values)
            for argument, values in choices.items()
        }
        try:
            getattr(machine, name)(**given)
            for check in always if at % EVERY == 0 else ():
                getattr(machine, check)()
        except Exception as error:
            error.add_note(f"in step {at} from seed {seed}: {name}({given})")
            raise
