"""A retry policy in the file: of a queue, or of a schedule's tasks alone."""

from typing import Any

from oncue.common.configkeys import RETRY
from oncue.common.configsection import Section
from oncue.common.errors import BadInput
from oncue.common.mended import advised, example
from oncue.common.retry import RetryPolicy
from oncue.common.yamlfile import Node


def read_retry(section: Section, node: Node) -> dict[str, Any]:
    """The fields of a RetryPolicy that are given; what cannot go together is blamed, and none is left."""
    values = section.take(section.mapping(node, example("retry")), RETRY)
    try:
        RetryPolicy(**values)
    except BadInput as error:
        first_s = values.get("first_s", RetryPolicy().first_s)
        section.blame(node, "", advised(str(error), f"max_s: {first_s:.12g}"))
        return {}
    return values
