"""Warnings of estimators in words for users of the command line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from warnings import WarningMessage

from sklearn.exceptions import ConvergenceWarning

# Such as " (part_of_)".
_ATTRIBUTE = re.compile(r" \(\w+_\)")


def unsettled(words: str, caught: Sequence[WarningMessage]) -> list[str]:
    """A sentence on fits that did not converge, without the parameters of the estimator."""
    stopped = any(issubclass(warning.category, ConvergenceWarning) for warning in caught)
    return [f"The fit of {words} was ended before the last details had settled."] if stopped else []


def in_plain_words(words: str, caught: Sequence[WarningMessage]) -> list[str]:
    """The other warnings of a fit, each once, without attributes of the estimator or advice on its parameters."""
    not_for_users = (ConvergenceWarning, DeprecationWarning, FutureWarning)
    said = [str(warning.message) for warning in caught if not issubclass(warning.category, not_for_users)]
    facts = [_ATTRIBUTE.sub("", text.partition(";")[0]).rstrip(".") for text in dict.fromkeys(said)]
    return [f"While fitting {words}: {fact[0].lower()}{fact[1:]}." for fact in facts]
