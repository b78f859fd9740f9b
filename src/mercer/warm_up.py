"""Compile all that Mercer compiles, so that nobody waits later: ``python -m mercer.warm_up``.

Machine code is kept in the user's cache, in ``~/.cache/mercer/compiled`` or where NUMBA_CACHE_DIR or XDG_CACHE_HOME
lead, under a digest of the sources: it outlives installations.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import walk_packages

from tqdm import tqdm

import mercer


def warm_up(*, verbose: bool = True) -> int:
    """Compile all functions for all precisions.

    Parameters
    ----------
    verbose : bool
        Whether to show a progress bar.

    Returns
    -------
    int
        How many functions there are.

    Examples
    --------
    >>> from mercer.warm_up import warm_up
    >>> warm_up(verbose=False) > 20
    True
    """
    from mercer.compiled_numba import Compiled

    names = [module.name for module in walk_packages(mercer.__path__, "mercer.") if module.name.endswith("_numba")]
    found = {value for name in names for value in vars(import_module(name)).values() if isinstance(value, Compiled)}
    functions = sorted(found, key=lambda function: f"{function.__module__}.{function.__name__}")
    for function in tqdm(functions, desc="compiling, once", disable=not verbose):
        function.compile_all()
    return len(functions)


if __name__ == "__main__":
    warm_up()
