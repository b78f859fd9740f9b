"""How much of a target can be in the trailing kernel components of a sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mercer.arrays import Array
from mercer.capacity.checks import check_delta, check_gram, check_scale
from mercer.parameters import check_choice, check_count, is_number


@dataclass(frozen=True, eq=False)
class ContributionBound:
    """What `contribution_bound` found.

    Attributes
    ----------
    values : array of shape (n,)
        With probability 1 - δ, abs(u_iᵀg(X))/√n is at most this, for all i at once; never more than sup abs(g).
    eigenvalues : array of shape (n,)
        l_i of K/n, descending.
    n_terms : array of shape (n,)
        The truncation r that gave the least bound for each i; 0 where sup abs(g) is less than all, which is vacuous.
    scaling, absolute : array of shape (n,)
        The part of the bound that depends on i, and the one that does not.
    """

    values: Array
    eigenvalues: Array
    n_terms: Array
    scaling: Array
    absolute: Array

    def tail(self, n_components: int) -> float:
        """Bound on Σ_{i>d} (u_iᵀg(X))²/n: what of the mean square of g is not in the first d components.

        The bounds of all i hold together, so that their squares may be added.
        """
        d = check_count(n_components, "n_components", "ContributionBound.tail", least=0)
        return float(np.sum(self.values[d:] ** 2))


def contribution_bound(
    K: ArrayLike,
    eigenvalues: ArrayLike,
    eigenfunctions: ArrayLike,
    coefficients: ArrayLike,
    delta: float,
    *,
    tail_norm: float = 0.0,
    tail_sup: float = 0.0,
    form: str = "sharp",
) -> ContributionBound:
    """Bound on the contributions abs(u_iᵀg(X))/√n of a target to the kernel components of a sample, for all i.

    min over r of l_i c_i 2ã‖Ψ⁺‖ + 2rã‖Ψ⁺‖‖E‖ + T + sqrt(F_r T) (R/(nδ))^¼, for k = Σ λ_l ψ_l ψ_l and
    g = Σ α_l λ_l ψ_l, truncated to the first r of R terms: Ψ = ψ_l(X_i)/√n, E what is missing of K/n, T = ‖g - g_r‖,
    F_r the supremum of abs(g - g_r), c_i how many eigenvalues of the truncated matrix are between l_i/2 and 2l_i.

    Parameters
    ----------
    K : array_like of shape (n, n)
        Gram matrix kernel(X).
    eigenvalues : array_like of shape (R,)
        λ_l, descending; see `kernel_eigenfunctions`.
    eigenfunctions : array_like of shape (n, R)
        ψ_l(X_i), orthonormal under the density of the rows.
    coefficients : array_like of shape (R,)
        α_l = ⟨ψ_l, g⟩/λ_l.
    delta : float
        Probability of being wrong.
    tail_norm, tail_sup : float
        ‖g - g_R‖ and sup abs(g - g_R), where g has more than R terms.
    form : {"sharp", "theorem"}
        "theorem": ã = Σ abs(α_l), as printed. "sharp": ã = (Σ α_l²)^½, and the sum over min(‖E‖/abs(l_i - l̃_j), 1) l̃_j
        in place of 2c_i l_i + 2r‖E‖, which the proof gives as well.

    Returns
    -------
    ContributionBound
        values, eigenvalues, n_terms, scaling, absolute; and `tail`.

    Notes
    -----
    [Braun2008]_, theorem 1. Two slips: eq. (8) needs the supremum of g - g_r where it has that of g, and a minimum over
    truncations must share δ among them. Suprema are bounded by those of the terms, with abs(ψ_l) ≤ sqrt(k(x, x)/λ_l).

    Examples
    --------
    >>> import numpy as np
    >>> from mercer.capacity import contribution_bound, kernel_eigenfunctions
    >>> from mercer.kernels import Gaussian
    >>> kernel, X = Gaussian(0.7), np.random.default_rng(0).uniform(-1, 1, size=(300, 1))
    >>> found = kernel_eigenfunctions(kernel, n_functions=12)
    >>> target = np.array([1.0, -2.0, 0.5] + 9 * [0.0])
    >>> bound = contribution_bound(kernel(X), found.eigenvalues, found(X), target, 0.1)
    >>> bool(bound.values[9] < 1e-3 * bound.values[0])
    True
    """
    owner = "contribution_bound"
    delta, matrix = check_delta(delta, owner), check_gram(K, owner)
    check_choice(form, ("sharp", "theorem"), "form", owner)
    lam, psi, alpha = _expansion(eigenvalues, eigenfunctions, coefficients, len(matrix), owner)
    tails = _Tails.of(lam, psi, alpha, float(matrix.diagonal().max()), tail_norm, tail_sup, owner)
    n = len(matrix)
    gram = matrix / n
    values = np.maximum(np.linalg.eigvalsh(gram)[::-1], 0.0)
    most = min(n, len(lam))
    trivial = float(tails.sup_from[0])
    best = np.full(n, trivial)
    chosen, parts = np.zeros(n, dtype=int), np.zeros((2, n))
    for r in range(1, most + 1):
        one = _one_truncation(gram, values, lam[:r], psi[:, :r] / np.sqrt(n), alpha[:r], form)
        if one is None:
            continue
        scaling, absolute = one
        rest = tails.norm_from[r]
        absolute += rest + np.sqrt(tails.sup_from[r] * rest) * (most / (n * delta)) ** 0.25
        better = scaling + absolute < best
        best = np.where(better, scaling + absolute, best)
        chosen[better] = r
        parts[:, better] = np.vstack([scaling, np.full(n, absolute)])[:, better]
    parts[1, chosen == 0] = trivial
    return ContributionBound(best, values, chosen, parts[0], parts[1])


def _one_truncation(
    gram: Array,
    values: Array,
    lam: Array,
    psi: Array,
    alpha: Array,
    form: str,
) -> tuple[Array, float] | None:
    """The parts of bound (7) for one r, or None if the sample does not tell the functions apart."""
    singular = np.linalg.svd(psi, compute_uv=False)
    if len(psi) < len(lam) or singular[-1] <= 1e-10 * singular[0]:
        return None
    inverse = 1.0 / singular[-1]
    factor = psi * np.sqrt(lam)
    truncated = np.linalg.eigvalsh(factor.T @ factor)[::-1]
    missing = float(np.abs(np.linalg.eigvalsh(gram - factor @ factor.T)).max())
    if form == "theorem":
        size = float(np.abs(alpha).sum()) * inverse
        near = np.count_nonzero((truncated >= values[:, None] / 2) & (truncated <= 2 * values[:, None]), axis=1)
        return 2 * size * near * values, 2 * size * len(lam) * missing
    gaps = np.abs(values[:, None] - truncated)
    shares = np.divide(missing, gaps, out=np.ones_like(gaps), where=gaps > missing)
    return float(np.linalg.norm(alpha)) * inverse * (shares @ truncated), 0.0


class _Tails(NamedTuple):
    """Norms and suprema of g - g_r, for r = 0, ..., R."""

    norm_from: Array
    sup_from: Array

    @classmethod
    def of(
        cls, lam: Array, psi: Array, alpha: Array, bound: float, tail_norm: float, tail_sup: float, owner: str
    ) -> _Tails:
        for name, value in (("tail_norm", tail_norm), ("tail_sup", tail_sup)):
            if not is_number(value) or value < 0:
                raise ValueError(f"{name} of {owner} must be a number >= 0, got {value!r}; 0 if g has no more terms.")
        squares = np.append((alpha * lam) ** 2, tail_norm**2)
        largest = np.minimum(np.sqrt(bound / lam), np.inf)
        sups = np.append(np.abs(alpha) * lam * np.maximum(largest, np.abs(psi).max(axis=0)), tail_sup)
        return cls(np.sqrt(np.cumsum(squares[::-1])[::-1]), np.cumsum(sups[::-1])[::-1])


def _expansion(
    eigenvalues: ArrayLike, eigenfunctions: ArrayLike, coefficients: ArrayLike, n: int, owner: str
) -> tuple[Array, Array, Array]:
    lam, alpha = (np.asarray(v, dtype=np.float64).ravel() for v in (eigenvalues, coefficients))
    psi = np.asarray(eigenfunctions, dtype=np.float64)
    if not lam.size or psi.shape != (n, len(lam)) or len(alpha) != len(lam):
        raise ValueError(
            f"eigenfunctions of {owner} must have one row for each of {n} rows and one column for each eigenvalue, got "
            f"shape {psi.shape} with {len(lam)} eigenvalues and {len(alpha)} coefficients."
        )
    finite = all(np.isfinite(values).all() for values in (lam, psi, alpha))
    if not finite or lam.min() <= 0 or np.any(np.diff(lam) > 1e-12 * lam[0]):
        raise ValueError(
            f"eigenvalues of {owner} must be positive, finite and descending, like eigenfunctions and coefficients "
            "finite; leave out those that are zero."
        )
    return lam, psi, alpha


def tail_sums(eigenvalues: ArrayLike, *, rest: float = 0.0) -> Array:
    """Λ_{>r} = Σ_{l>r} λ_l for r = 0, 1, ..., R, with the sum of eigenvalues that are not listed.

    Examples
    --------
    >>> from mercer.capacity import tail_sums
    >>> tail_sums([1.0, 0.5, 0.25], rest=0.25)
    array([2.  , 1.  , 0.5 , 0.25])
    """
    values = np.asarray(eigenvalues, dtype=np.float64).ravel()
    if not values.size or not np.isfinite(values).all() or values.min() < 0 or not is_number(rest) or rest < 0:
        raise ValueError("eigenvalues and rest of tail_sums must be finite numbers >= 0; give those of the kernel.")
    return np.cumsum(np.append(values, rest)[::-1])[::-1]


class TruncationErrors(NamedTuple):
    """What `truncation_errors` bounds: ‖ΨᵀΨ - 1‖, ‖K/n - K̃/n‖ and ‖Ψ⁺‖; the last is inf where the first is ≥ 1."""

    orthogonality: float
    missing: float
    inverse: float


def truncation_errors(
    eigenvalues: ArrayLike, n_terms: int, n_samples: int, delta: float, *, bound: float, rest: float = 0.0
) -> TruncationErrors:
    """Finite-sample terms of `contribution_bound` before any sample is drawn.

    ‖ΨᵀΨ - 1‖ ≤ r sqrt(r(r+1)K/(λ_r n δ)), ‖E‖ ≤ Λ_{>r} + sqrt(2KΛ_{>r}/(nδ)) with probability 1 - δ, and
    ‖Ψ⁺‖ ≤ (1 - ‖ΨᵀΨ - 1‖)^-½.

    Parameters
    ----------
    eigenvalues : array_like
        λ_l, descending.
    n_terms, n_samples : int
        r and n.
    delta : float
        Probability of being wrong.
    bound : float
        K, the largest k(x, x).
    rest : float
        Sum of the eigenvalues that are not listed.

    Notes
    -----
    [Braun2008]_, lemmas 2 and 3; its λ_r in the bound on ‖E‖ is not needed, since E is positive and its trace bounds
    it. These are worst cases: on a sample they are many times smaller.

    Examples
    --------
    >>> from mercer.capacity import truncation_errors
    >>> truncation_errors([0.5, 0.3, 0.2], 1, 10_000, 0.1, bound=1.0).missing < 0.55
    True
    """
    owner = "truncation_errors"
    tails = tail_sums(eigenvalues, rest=rest)
    lam = np.asarray(eigenvalues, dtype=np.float64).ravel()
    r, n = check_count(n_terms, "n_terms", owner), check_count(n_samples, "n_samples", owner)
    delta, bound = check_delta(delta, owner), check_scale(bound, owner, "bound")
    if r > len(lam) or not lam[r - 1] > 0:
        raise ValueError(f"n_terms of {owner} must be at most the number of eigenvalues > 0, got {r}; take fewer.")
    orthogonality = r * float(np.sqrt(r * (r + 1) * bound / (lam[r - 1] * n * delta)))
    missing = float(tails[r] + np.sqrt(2 * bound * tails[r] / (n * delta)))
    inverse = (1 - orthogonality) ** -0.5 if orthogonality < 1 else np.inf
    return TruncationErrors(orthogonality, missing, float(inverse))
