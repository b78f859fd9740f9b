"""Progress of long work: what is being done, how much is behind, and how good the result is so far."""

from __future__ import annotations

from collections.abc import Mapping


class Progress:
    """Follows long work; this one looks away."""

    def __call__(self, words: str, share: float = 0.0, objective: float | None = None) -> bool:
        """Be told of the work, and say whether it is to end.

        Parameters
        ----------
        words : str
            What is being done.
        share : float
            How much of the whole work is behind, from 0 to 1: an estimate.
        objective : float, optional
            What is being minimised or maximised, as good as it is so far.
        """
        return False

    def expect(self, share: float) -> None:
        """Be told how much will be behind when the stage that begins is over; until then nothing need be heard."""

    def end(self) -> None:
        """Be told that the result is there: what is left is short, and should not be interrupted."""


class Stages:
    """A plan of work, of which a `Progress` is told.

    Parameters
    ----------
    progress : Progress, optional
        Who is told.
    plan : mapping of str to float
        What is done, in order, and about how long each takes beside the others.

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
        """Go on to a stage of the plan; raises `KeyboardInterrupt` if the work is to end."""
        self._words = words
        self._progress.expect(self._behind(1.0))
        self.go_on(0.0)

    def go_on(self, share: float) -> None:
        """Tell the share of the stage that is done; raises `KeyboardInterrupt` if the work is to end."""
        if self.tell(share):
            raise KeyboardInterrupt

    def end(self) -> None:
        """Tell that the result is there."""
        self._progress.end()

    def tell(self, share: float, objective: float | None = None) -> bool:
        """Tell how much of the stage is done; whether the work is to end."""
        # Methods that begin anew count from zero again; the whole work does not.
        self._share = max(self._share, self._behind(share))
        return self._progress(self._words, self._share, objective)

    def _behind(self, share: float) -> float:
        """How much of the whole work is behind after a share of the stage."""
        names = list(self._plan)
        before = sum(self._plan[name] for name in names[: names.index(self._words)])
        return (before + min(share, 1.0) * self._plan[self._words]) / sum(self._plan.values())
