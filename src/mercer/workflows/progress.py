"""Progress of long work: what is being done, how much is behind, and how good the result is so far."""

from __future__ import annotations

from collections.abc import Mapping


class Progress:
    """Follows long work; this base class ignores it."""

    def __call__(self, words: str, share: float = 0.0, objective: float | None = None) -> bool:
        """Called with the progress of the work; returns whether it is to end.

        Parameters
        ----------
        words : str
            What is being done.
        share : float
            Estimated fraction of the whole work that is done.
        objective : float, optional
            What is being minimised or maximised, as good as it is so far.
        """
        return False

    def expect(self, share: float) -> None:
        """Called when a stage begins, with the fraction of the work done at its end; other calls may come only then."""

    def end(self) -> None:
        """Called when the result is complete: what is left is short and should not be interrupted."""


class Stages:
    """A plan of work that reports to a `Progress`.

    Parameters
    ----------
    progress : Progress, optional
        Receives the reports.
    plan : mapping of str to float
        The stages in order, with their relative durations.

    Examples
    --------
    >>> from mercer.report import Progress
    >>> from mercer.workflows.progress import Stages
    >>> class Printed(Progress):
    ...     def __call__(self, words, share=0.0, objective=None):
    ...         print(f"{100 * share:.0f}% {words} {objective or ''}".strip())
    ...         return False
    >>> stages = Stages(Printed(), {"reading": 1.0, "fitting": 4.0})
    >>> stages.begin("fitting")
    20% fitting
    >>> stages.tell(0.5, 0.125)
    60% fitting 0.125
    False
    """

    def __init__(self, progress: Progress | None, plan: Mapping[str, float]):
        self._progress, self._plan = progress or Progress(), dict(plan)
        self._words, self._share = "", 0.0

    def begin(self, words: str) -> None:
        """Begin a stage of the plan; raises `KeyboardInterrupt` if the work is to end."""
        self._words = words
        self._progress.expect(self._behind(1.0))
        self.go_on(0.0)

    def go_on(self, share: float) -> None:
        """Tell the share of the stage that is done; raises `KeyboardInterrupt` if the work is to end."""
        if self.tell(share):
            raise KeyboardInterrupt

    def end(self) -> None:
        """Report that the result is complete."""
        self._progress.end()

    def tell(self, share: float, objective: float | None = None) -> bool:
        """Report the fraction of the stage that is done; returns whether the work is to end."""
        # A method that starts again counts from zero; the progress of the whole work never decreases.
        self._share = max(self._share, self._behind(share))
        return self._progress(self._words, self._share, objective)

    def _behind(self, share: float) -> float:
        """Fraction of the whole work that is done after a fraction of the stage."""
        names = list(self._plan)
        before = sum(self._plan[name] for name in names[: names.index(self._words)])
        return (before + min(share, 1.0) * self._plan[self._words]) / sum(self._plan.values())
