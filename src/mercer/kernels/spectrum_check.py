"""The part of `check_kernel` that compares a claimed spectrum with the kernel."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtri

from mercer.arrays import Array
from mercer.kernels.base import Kernel
from mercer.kernels.promises import Profile, Table, fail, small
from mercer.kernels.spectra import radial_fourier
from mercer.kernels.widths import median_distance

_MAX_DIMS = 30  # beyond, the quadrature loses all digits and then the range of doubles
_MAX_DIMS_MEAN = 5  # beyond, means over space have a few rare large terms


def check_spectrum(kernel: Any, table: Table, n_dims: int | None) -> dict[str, float]:
    """Errors of the spectrum, by the name of what was compared."""
    n_dims = n_dims or table.n_columns
    errors: dict[str, float | None] = {}
    if kernel.stationary or n_dims == 1 or _takes_one_column(kernel):
        errors["spectrum"] = _check_radial_spectrum(kernel, table, n_dims if kernel.stationary else 1)
    if not kernel.stationary and n_dims > 1 and kernel.order == 0:
        errors["spectral mean"] = _check_spectral_mean(kernel, table, n_dims)
    one_column = not kernel.stationary and _takes_one_column(kernel)
    errors["log spectrum"] = _check_log_spectrum(kernel, table, 1 if one_column else n_dims)
    return {name: error for name, error in errors.items() if error is not None}


def _takes_one_column(kernel: Kernel) -> bool:
    try:
        kernel([[0.0]])
    except ValueError:
        return False  # a width for each column
    return True


def _along(kernel: Kernel, direction: Array) -> Profile:
    """The kernel as a function of the squared distance from zero in a direction."""
    origin = np.zeros((1, len(direction)))  # on the left: kernels that centre their rows then lose no digits
    return lambda r2: kernel(origin, np.sqrt(r2).reshape(-1, 1) * direction).reshape(np.shape(r2))


def change_length(profile: Profile, table: Table) -> float:
    """The distance at which the kernel has changed by half; one from the data if it is zero at zero."""
    radii = np.geomspace(1e-9, 1e9, 181)
    with np.errstate(all="ignore"):
        values = profile(np.r_[0.0, radii] ** 2)
    changed = np.abs(values[1:] - values[0]) >= 0.5 * np.abs(values[0])
    if values[0] != 0 and changed.any():
        return float(radii[np.argmax(changed)])
    try:
        return median_distance(table.values)
    except ValueError:
        return 1.0


def _check_radial_spectrum(kernel: Any, table: Table, n_dims: int) -> float | None:
    """Compare with quadrature, relative to the spectrum at this and all higher frequencies: it may have zeros."""
    stationary = kernel.stationary
    profile = (lambda r2: kernel.of_squared_distance(r2, n_dims)) if stationary else _along(kernel, np.ones(1))
    length = change_length(profile, table)
    if n_dims > _MAX_DIMS or (n_dims + 6) * (2 + abs(np.log10(length))) > 280:
        return None
    omega, fine = np.geomspace(0.03, 30, 11) / length, np.geomspace(1e-2, 1e3, 50) / length
    claimed, finely = (_spectrum(kernel, w if stationary else w[:, None], n_dims) for w in (omega, fine))
    numerical = radial_fourier(profile, omega, n_dims)
    envelope = np.array([np.abs(finely[fine >= w]).max() for w in omega])
    negligible = np.full_like(omega, 1e-5 * envelope[omega >= 1 / length][0])
    error = np.abs(numerical - claimed) / np.max([envelope, np.abs(claimed), np.abs(numerical), negligible], axis=0)
    for i in np.flatnonzero(~(error <= 1e-6)):
        if _is_doubtful(profile, float(omega[i]), n_dims, float(numerical[i] - claimed[i])):
            error[i] = np.nan
    if np.nanmax(error, initial=0.0) > 1e-6:
        found = f"a relative difference of {np.nanmax(error):.1e} at frequency {omega[np.nanargmax(error)]:.3g}"
        raise fail(kernel, "have the spectrum that quadrature gives", found)
    return None if np.isnan(error).all() else float(np.nanmax(error))


def _is_doubtful(profile: Profile, omega: float, n_dims: int, difference: float) -> bool:
    """Whether a difference may come from the quadrature: then tiny changes of the frequency change it at random."""
    return not abs(difference) > 100 * np.ptp(radial_fourier(profile, omega * (1 + 1e-11 * np.arange(6)), n_dims))


def _spectrum(kernel: Any, omega: Array, n_dims: int) -> Array:
    """The claimed spectrum at frequencies, or at vectors of them if the kernel is not radial."""
    with np.errstate(all="ignore"):
        values = np.asarray(kernel.spectrum(omega, n_dims))
    if values.size != len(omega):
        raise fail(kernel, f"give {len(omega)} values of its spectrum for as many frequencies", f"shape {values.shape}")
    values = values.ravel()
    if not np.isfinite(values).all() or not values.any():
        found = "only zeros" if np.isfinite(values).all() else f"{values[~np.isfinite(values)][0]}"
        raise fail(kernel, "have a spectrum that is finite beyond zero and not zero everywhere", found)
    if values.min() < -1e-12 * np.abs(values).max():
        where = np.array2string(omega[np.argmin(values)], precision=3)
        raise fail(kernel, "have a non-negative spectrum", f"{values.min():.1e} at frequency {where}")
    return values


def _check_log_spectrum(kernel: Any, table: Table, n_dims: int) -> float:
    """Compare the logarithm of the spectrum, which may have another formula, where the spectrum does not underflow."""
    axis = np.eye(n_dims)[0]
    omega = np.geomspace(0.03, 30, 11) / change_length(_along(kernel, axis), table)
    frequencies = omega if kernel.stationary else np.outer(omega, np.ones(n_dims))
    claimed = _spectrum(kernel, frequencies, n_dims)
    seen = claimed > 1e-280
    with np.errstate(all="ignore"):
        logs = np.ravel(kernel.log_spectrum(frequencies, n_dims))
        error = np.abs(np.expm1(logs[seen] - np.log(claimed[seen]))).max(initial=0.0)
    return small(float(error), 1e-6, kernel, "have a log_spectrum that is the logarithm of its spectrum")


def _check_spectral_mean(kernel: Any, table: Table, n_dims: int) -> float | None:
    """Compare the mean of k under a Gaussian of widths s with that of its spectrum under one of widths 1/s, over Π s.

    The points are those of a lattice that is shifted at random, several times to know the error.
    """
    if n_dims > _MAX_DIMS_MEAN:
        return None
    ratio = 2.0
    for _ in range(60):
        ratio = (1 + ratio) ** (1 / (n_dims + 1))  # the golden ratio, in n_dims dimensions
    lattice = np.arange(2048)[:, None] * ratio ** -np.arange(1.0, n_dims + 1)
    points = ndtri((lattice + np.random.default_rng(0).random((8, 1, n_dims))) % 1.0)
    lengths = np.array([change_length(_along(kernel, axis), table) for axis in np.eye(n_dims)])
    largest = 0.0
    for widths in (0.5 * lengths, lengths, 2 * lengths):
        values = kernel(np.zeros((1, n_dims)), (points * widths).reshape(-1, n_dims)).reshape(8, -1)
        spectrum = _spectrum(kernel, (points / widths).reshape(-1, n_dims), n_dims).reshape(8, -1) / np.prod(widths)
        means = np.array([values.mean(axis=1), spectrum.mean(axis=1)])
        scale = np.abs(means.mean(axis=1)).max()
        error, deviation = np.abs(np.diff(means.mean(axis=1))[0]) / scale, means.std(axis=1).sum() / scale
        largest = max(largest, small(error, 1e-3 + 3 * deviation, kernel, "have a spectrum whose mean is that of k"))
    return float(largest)
