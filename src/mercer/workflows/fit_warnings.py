"""Warnings of estimators, for people who do not know that there are any."""

from __future__ import annotations

import re
from collections.abc import Sequence
from warnings import WarningMessage

from sklearn.exceptions import ConvergenceWarning

# Such as " (part_of_)".
_ATTRIBUTE = re.compile(r" \(\w+_\)")


def unsettled(words: str, caught: Sequence[WarningMessage]) -> list[str]:
    """That a fit did not converge is said without the parameters of an estimator."""
    stopped = any(issubclass(warning.category, ConvergenceWarning) for warning in caught)
    return [f"The fit of {words} was ended before the last details had settled."] if stopped else []


def in_plain_words(words: str, caught: Sequence[WarningMessage]) -> list[str]:
    """Other warnings of a fit, each once, without attributes of the estimator and advice on its parameters."""
    not_for_users = (ConvergenceWarning, DeprecationWarning, FutureWarning)
    said = [str(warning.message) for warning in caught if not issubclass(warning.category, not_for_users)]
    facts = [_ATTRIBUTE.sub("", text.partition(";")[0]).rstrip(".") for text in dict.fromkeys(said)]
    return [f"While fitting {words}: {fact[0].lower()}{fact[1:]}." for fact in facts]
