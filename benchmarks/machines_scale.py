"""Kernel machines on many samples beside scikit-learn, scikit-learn-intelex and LIBSVM: time, gap, memory, growth.

California housing is read as `mercer.datasets.load_california_housing` says; without it a generated set takes its
place. Rivals are interleaved and the minimum of several rounds is taken. Mercer is asked for the smallest gap of its
rivals, as its own certificate finds it for the coefficients that they return, with the best offset. LIBSVM takes part
if `libsvm-official` is installed, which needs a C++ compiler. Parts: `python benchmarks/machines_scale.py fit growth
predict losses path floor large ridge crossover nu memory`, or none for all of them.
"""

from __future__ import annotations

import subprocess
import sys
import time
import warnings
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
from sklearn.svm import SVC, SVR, NuSVC, NuSVR, OneClassSVM

from mercer import (
    NuSupportVectorClassifier,
    NuSupportVectorRegressor,
    OneClassMachine,
    SupportVectorClassifier,
    SupportVectorRegressor,
)
from mercer.datasets import load_california_housing
from mercer.kernels import Gaussian
from mercer.kernels.gram import Gram
from mercer.losses import EpsilonInsensitive, Expectile, Hinge, Huber, Laplace, Logistic, PiecewisePolynomial, Quantile
from mercer.problems import KernelProgram
from mercer.regularizers import RKHSNorm
from mercer.solvers import SOLVERS, SolverResult
from mercer.threads import single_threaded_numpy

WIDTH, GAMMA, EPSILON = 2.0, 0.125, 0.1
_LIBSVM_LIMIT = 4_000  # beyond it takes a minute; scikit-learn has the same algorithm
_REPEATED_LIMIT = 4_000  # beyond it rivals that take many seconds run once
_ROUNDS_OF_FEW, _ROUNDS = 5, 3  # up to that limit, where fits take a moment, and beyond
_DRAWS = 3  # for exponents: from draw to draw those of one program differ by .1


def regression(m, seed=0):
    """California housing, standardised, in random order; or eight normal columns and a rough function of them."""
    rng = np.random.default_rng(seed)
    try:
        X, y = load_california_housing()
    except FileNotFoundError:
        X = rng.normal(size=(max(m, 20_640), 8))
        y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=len(X))
    chosen = rng.permutation(len(X))[:m]
    X, y = (X - X.mean(axis=0)) / X.std(axis=0), (y - y.mean()) / y.std()
    return np.ascontiguousarray(X[chosen]), y[chosen]


def two_classes(m, seed=0):
    """Noisy classes in eight dimensions."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, 8))
    score = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * X[:, 3] + 0.5 * rng.normal(size=m)
    return X, np.where(score > 0, 1.0, -1.0)


DATA = {"regression": (regression, EpsilonInsensitive(EPSILON)), "two classes": (two_classes, Hinge())}


def program(X, y, loss, C):
    return KernelProgram.build(RKHSNorm().penalty(Gram(Gaussian(WIDTH), X), np.ones((len(y), 1))), y, loss, C)


def title(text):
    print(f"\n{text}\n{'-' * len(text)}", flush=True)


def gap_of(problem, positions, coefficients):
    """Relative gap of given coefficients with the best offset: Σ_i cost_i(b) is made of lines with known kinks."""
    B = np.zeros(len(problem.y))
    B[positions] = coefficients
    gram_B = problem.times_gram(B)
    low, high = problem.box()
    up = problem.sign > 0
    above, below = (np.broadcast_to(side, len(B)) for side in problem.loss.insensitivity[::-1])
    kinks = np.concatenate([problem.y - gram_B - above, problem.y - gram_B + below])
    slopes = np.concatenate([np.where(up, high, -low), np.where(up, -low, high)])
    order = np.argsort(kinks)
    rising = np.cumsum(slopes[order]) - slopes[: len(B)].sum()
    d = np.array([kinks[order[np.searchsorted(rising, 0.0)]]])
    with single_threaded_numpy:  # threads that go on spinning would take a core from who is timed next
        return problem.iterate(B, d, gram_B).relative_gap


def libsvm(X, y, C):
    from libsvm.svmutil import svm_parameter, svm_problem, svm_train

    kind = "-s 0" if set(np.unique(y)) == {-1.0, 1.0} else f"-s 3 -p {EPSILON}"
    model = svm_train(svm_problem(y, X), svm_parameter(f"{kind} -t 2 -g {GAMMA} -c {C} -q"))
    coefficients = np.array(model.get_sv_coef())[:, 0] * (model.get_labels()[0] if kind == "-s 0" else 1.0)
    return np.array(model.get_sv_indices()) - 1, coefficients


def of_scikit_learn(regressor, classifier):
    def fit(X, y, C):
        is_two_class = set(np.unique(y)) == {-1.0, 1.0}
        machine = classifier(C=C, gamma=GAMMA) if is_two_class else regressor(C=C, gamma=GAMMA, epsilon=EPSILON)
        machine.fit(X, y)
        return machine.support_, machine.dual_coef_[0]

    return fit


def peers():
    from sklearnex.svm import SVC as FastSVC
    from sklearnex.svm import SVR as FastSVR

    rivals = {"intelex": of_scikit_learn(FastSVR, FastSVC), "scikit-learn": of_scikit_learn(SVR, SVC)}
    return {**rivals, "libsvm": libsvm} if find_spec("libsvm") else rivals


def mercer_machine(name, C, tol):
    loss = DATA[name][1]
    machine = SupportVectorClassifier if loss.classification else SupportVectorRegressor
    return machine(Gaussian(WIDTH), loss=loss, C=C, tol=tol)


def timed(function, *arguments):
    start = time.perf_counter()
    result = function(*arguments)
    return time.perf_counter() - start, result


SIZES, WEIGHTS = (4_000, 10_000, 20_000), (1.0, 10.0, 100.0)


def fit():
    title(
        f"fit: seconds (relative gap), minimum of {_ROUNDS_OF_FEW} up to m = {_REPEATED_LIMIT}, of {_ROUNDS} beyond; "
        "scikit-learn once there"
    )
    for name, (make, loss) in DATA.items():
        mercer_machine(name, 1.0, 1e-2).fit(*make(1_000))  # compile
        for C in WEIGHTS:
            for m in SIZES:
                X, y = make(m)
                problem = program(X, y, loss, C)
                best, gaps = {}, {}
                for round_ in range(_ROUNDS_OF_FEW if m <= _REPEATED_LIMIT else _ROUNDS):
                    for rival, run in peers().items():
                        once = rival != "intelex" and m > _REPEATED_LIMIT
                        if (round_ and once) or (rival == "libsvm" and m > _LIBSVM_LIMIT):
                            continue
                        seconds, (positions, coefficients) = timed(run, X, y, C)
                        best[rival] = min(best.get(rival, np.inf), seconds)
                        if not round_:
                            gaps[rival] = gap_of(problem, positions, coefficients)
                    tol = min(gaps.values())
                    seconds, machine = timed(mercer_machine(name, C, tol).fit, X, y)
                    best["Mercer"] = min(best.get("Mercer", np.inf), seconds)
                    gaps["Mercer"] = machine.gap_
                shown = "   ".join(f"{rival} {best[rival]:.2f} ({gaps[rival]:.0e})" for rival in best)
                ratios = ", ".join(f"{r} {best[r] / best['Mercer']:.1f}" for r in best if r != "Mercer")
                print(f"{name}, C = {C:g}, m = {m}: {shown}   times Mercer: {ratios}", flush=True)


def growth():
    title(f"growth from m = {SIZES[0]} to {SIZES[-1]}: exponents of the mean times of {_DRAWS} draws, and of each draw")
    intelex = peers()["intelex"]
    for name, (make, loss) in DATA.items():
        mercer_machine(name, 1.0, 1e-2).fit(*make(1_000))  # compile
        for C in WEIGHTS:
            # Sizes take turns, too, so that a slow minute of the machine does not fall on one of them.
            spent = {rival: np.full((len(SIZES), _DRAWS), np.inf) for rival in ("Mercer", "intelex")}
            machines = {}
            for _ in range(2):
                for seed in range(_DRAWS):
                    for i, m in enumerate(SIZES):
                        X, y = make(m, seed)
                        theirs, found = timed(intelex, X, y, C)
                        if (m, seed) not in machines:
                            machines[m, seed] = mercer_machine(name, C, gap_of(program(X, y, loss, C), *found))
                        ours = timed(machines[m, seed].fit, X, y)[0]
                        for rival, seconds in (("Mercer", ours), ("intelex", theirs)):
                            spent[rival][i, seed] = min(spent[rival][i, seed], seconds)
            for rival, seconds in spent.items():
                of_mean = np.polyfit(np.log(SIZES), np.log(np.mean(seconds, axis=1)), 1)[0]
                of_draws = np.polyfit(np.log(SIZES), np.log(seconds), 1)[0]
                means = ", ".join(f"{mean:.3f}" for mean in np.mean(seconds, axis=1))
                print(f"{name}, C = {C:g}: {rival:8} {of_mean:.2f}   draws {of_draws.min():.2f} to {of_draws.max():.2f}"
                      f"   seconds {means}", flush=True)  # fmt: skip


def predict(m=20_000, rounds=3):
    title(f"predict {m} rows: seconds, minimum of {rounds}, largest difference from scikit-learn's")
    from sklearnex.svm import SVC as FastSVC
    from sklearnex.svm import SVR as FastSVR

    for name, (make, loss) in DATA.items():
        X, y = make(m)
        slow, fast = (SVC, FastSVC) if loss.classification else (SVR, FastSVR)
        theirs = {"intelex": fast(C=10.0, gamma=GAMMA).fit(X, y)}
        theirs["scikit-learn"] = slow(C=10.0, gamma=GAMMA).fit(X[:200], y[:200])
        # The same function for all: only the coefficients of intelex are used.
        source = theirs["intelex"]
        ours = mercer_machine(name, 10.0, 1e-2).fit(X[:200], y[:200])
        ours.support_vectors_, ours.dual_coef_ = source.support_vectors_, source.dual_coef_[0]
        ours.intercept_ = float(np.ravel(source.intercept_)[0])
        ours.parametric_coef_ = np.array([ours.intercept_])
        ours.support_ = source.support_
        method = "decision_function" if loss.classification else "predict"
        rivals = {"Mercer": getattr(ours, method), "intelex": getattr(source, method)}
        best, values = dict.fromkeys(rivals, np.inf), {}
        for _ in range(rounds):
            for rival, run in rivals.items():
                seconds, values[rival] = timed(run, X)
                best[rival] = min(best[rival], seconds)
        exact = np.asarray(Gram(Gaussian(WIDTH), X, source.support_vectors_) @ source.dual_coef_[0]) + ours.intercept_
        for rival, seconds in best.items():
            error = np.abs(values[rival] - exact).max()
            print(f"{name}: {rival:8} {seconds:.3f} s   {seconds / best['Mercer']:.2f} of Mercer   error {error:.0e}")


def losses(m=20_000):
    title(f"other losses, m = {m}, C = 10, relative gap 1e-4: time relative to the epsilon-insensitive loss")
    X, y = regression(m)
    first = None
    others = [
        EpsilonInsensitive(EPSILON),
        Quantile(0.8),
        Huber(0.3),
        Laplace(),
        Expectile(0.8),
        PiecewisePolynomial(1.5),
    ]
    for loss in others:
        best = np.inf
        for _ in range(2):
            seconds, machine = timed(SupportVectorRegressor(Gaussian(WIDTH), loss=loss, C=10.0, tol=1e-4).fit, X, y)
            best = min(best, seconds)
        first = first or best
        print(
            f"{loss!r:50} {best:7.2f} s   {best / first:5.2f}   {machine.solver_}, gap {machine.gap_:.0e}", flush=True
        )


def path(m=20_000, rounds=3):
    Cs = np.geomspace(1.0, 100.0, 10)
    title(f"path over 10 values of C from 1 to 100, m = {m}, relative gap 1e-3, minimum of {rounds}")
    for name, (make, _) in DATA.items():
        X, y = make(m)
        mercer_machine(name, 1.0, 1e-3).fit(*make(1000))  # compiled functions are loaded
        whole, singles = np.inf, np.full(len(Cs), np.inf)
        for _ in range(rounds):
            seconds, machines = timed(mercer_machine(name, 1.0, 1e-3).regularization_path, X, y, Cs)
            whole = min(whole, seconds)
            singles = np.minimum(singles, [timed(mercer_machine(name, C, 1e-3).fit, X, y)[0] for C in Cs])
        print(
            f"{name}: path {whole:.2f} s, single fits {singles.min():.2f} to {singles.max():.2f} s, together "
            f"{singles.sum():.2f} s: {whole / singles.mean():.2f} mean fits, {whole / singles.max():.2f} of the "
            f"longest; largest gap {max(machine.gap_ for machine in machines):.0e}",
            flush=True,
        )


def floor(m=20_000):
    title(f"where the time goes, m = {m}, relative gap 1e-4")
    from mercer.kernels.gram import columns as columns_module
    from mercer.solvers.smo import block_solver, state

    spent = {}

    def watch(owner, attribute, label):
        original = getattr(owner, attribute)

        def wrapped(*arguments, **keywords):
            start = time.perf_counter()
            try:
                return original(*arguments, **keywords)
            finally:
                spent[label] = spent.get(label, 0.0) + time.perf_counter() - start

        setattr(owner, attribute, wrapped)

    watch(columns_module._GaussianColumns, "times", "columns, single precision")
    watch(columns_module._GaussianColumns, "corner", "blocks of the matrix")
    watch(block_solver, "descend_by_halves", "steps on pairs")
    watch(block_solver, "solve_by_active_set", "Newton steps")
    watch(state.State, "refine", "exact gradients")
    for name, (make, loss) in DATA.items():
        X, y = make(m)
        evaluations, _ = timed(Gram(Gaussian(WIDTH), X).__matmul__, np.ones(m))
        for C in (1.0, 100.0):
            spent.clear()
            problem = program(X, y, loss, C)
            seconds, result = timed(lambda p=problem: SOLVERS["smo"].solve(p, tol=1e-4))
            rest = seconds - sum(spent.values())
            parts = ", ".join(f"{label} {part:.2f}" for label, part in {**spent, "the rest": rest}.items())
            print(f"{name}, C = {C:g}: {seconds:.2f} s in {result.n_iter} rounds = {parts}; one exact product with the "
                  f"whole matrix {evaluations:.2f} s", flush=True)  # fmt: skip


_LARGE = """
import re, sys, time
from pathlib import Path
import numpy as np
from mercer import KernelRidge, SupportVectorRegressor
from mercer.kernels import Gaussian
from mercer.losses import EpsilonInsensitive
m, kind = int(sys.argv[1]), sys.argv[2]
rng = np.random.default_rng(0)
X = rng.normal(size=(m, 8))
y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=m)
def peak():  # of this process alone; ru_maxrss would start from the parent's
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text()).group(1)) / 2**20
before = peak()
machine = KernelRidge(Gaussian(2.0), penalties=1.0) if kind == "ridge" else SupportVectorRegressor(
    Gaussian(2.0), loss=EpsilonInsensitive(0.1), C=10.0)
start = time.perf_counter()
machine.fit(X, y)
seconds = time.perf_counter() - start
print(f"{kind}, m = {m}: {seconds:.0f} s, peak memory {peak():.2f} GiB ({before:.2f} before the fit), "
      f"{machine.solver_!r}, {machine.status_}, relative gap {machine.gap_:.0e}, {machine.n_iter_} iterations")
"""


def in_a_process(m, kind):
    subprocess.run([sys.executable, "-c", _LARGE, str(m), kind], check=True)


def large():
    title("100,000 samples in a fresh process")
    in_a_process(100_000, "epsilon-insensitive")


def ridge():
    title("KernelRidge, 50,000 samples in a fresh process")
    in_a_process(50_000, "ridge")


def crossover():
    title("which solver from which number of samples: seconds to relative gap 1e-3 and 1e-6, C = 10")
    for name, loss in (
        ("regression", EpsilonInsensitive(EPSILON)),
        ("regression", Huber(0.3)),
        ("two classes", Logistic()),
    ):
        for tol in (1e-3, 1e-6):
            for m in (200, 500, 1_000, 2_000, 4_000):
                compare_solvers(name, loss, m, 10.0, tol, ("interior_point", "smo", "working_set"))
    title("and from which weights: seconds to relative gap 1e-3")
    for name, loss in (
        ("regression", EpsilonInsensitive(EPSILON)),
        ("regression", Huber(0.3)),
        ("two classes", Hinge()),
    ):
        for m in (1_000, 3_000):
            for C in (1e2, 1e3, 3e3, 1e4, 1e5):
                compare_solvers(name, loss, m, C, 1e-3, ("interior_point", "smo"), rounds=1)


def nu():
    title("ν: seconds, minimum of 3; its twin has the tube that was found, or C = 1 / ρ; peers once")
    from sklearnex.svm import NuSVC as FastNuSVC
    from sklearnex.svm import NuSVR as FastNuSVR

    kernel = Gaussian(WIDTH)
    for m in (4_000, 20_000):
        (X, y), (points, labels) = regression(m), two_classes(m)
        for C in (1.0, 10.0):
            for share in (0.1, 0.5):
                machine = NuSupportVectorRegressor(kernel, nu=share, C=C)
                found = machine.fit(X, y).epsilon_
                twin = SupportVectorRegressor(kernel, loss=EpsilonInsensitive(found), C=C)
                rivals = [kind(nu=share, C=C, gamma=GAMMA) for kind in (NuSVR, FastNuSVR)]
                compare_twins(f"regression, m = {m}, C = {C:g}, ν = {share}", machine, twin, rivals, X, y)
        for share in (0.4, 0.6):
            machine = NuSupportVectorClassifier(kernel, nu=share)
            twin = SupportVectorClassifier(kernel, C=1.0 / machine.fit(points, labels).rho_)
            rivals = [kind(nu=share, gamma=GAMMA) for kind in (NuSVC, FastNuSVC)]
            compare_twins(f"two classes, m = {m}, ν = {share}", machine, twin, rivals, points, labels)
        for share in (0.1, 0.5):
            machine, rivals = OneClassMachine(kernel, nu=share), [OneClassSVM(nu=share, gamma=GAMMA)]
            compare_twins(f"one class, m = {m}, ν = {share}", machine, None, rivals, X, y)


def compare_twins(name, machine, twin, rivals, X, y):
    """A ν-machine and the machine with the same solution in turn, and peers."""
    best = {}
    for _ in range(3):
        for who, model in (("ν", machine), ("twin", twin)):
            if model is not None:
                best[who] = min(best.get(who, np.inf), timed(model.fit, X, y)[0])
    ratio = "" if twin is None else f"  twin {best['twin']:.2f}, ratio {best['ν'] / best['twin']:.2f}"
    others = {("intelex" if "ex." in type(rival).__module__ else "scikit-learn"): timed(rival.fit, X, y)[0]
              for rival in rivals}  # fmt: skip
    shown = ", ".join(f"{rival} {seconds:.2f}" for rival, seconds in others.items())
    print(f"{name}: {best['ν']:.2f} ({machine.status_}, gap {machine.gap_:.0e}){ratio}; {shown}", flush=True)


def memory():
    title("peak of memory of solvers that form matrices, in matrices of n x n numbers (see Solver.n_matrices)")
    for name in ("interior_point", "least_squares", "interior_point l1", "linear_program"):
        for m in (1_200, 2_400):
            subprocess.run([sys.executable, "-c", _PEAK.format(path=sys.path[0], name=name, m=m)], check=True)


_PEAK = """
import resource, sys
sys.path.insert(0, {path!r})
import machines_scale as bench
from mercer.losses import EpsilonInsensitive, Squared
solver, _, regularizer = {name!r}.partition(" ")
if solver == "linear_program":
    regularizer = "l1"
loss = Squared() if solver == "least_squares" else EpsilonInsensitive(0.1)
X, y = bench.regression({m})
options = dict(loss=loss, solver=solver, regularizer=regularizer or "rkhs", memory=2**40, max_iter=50)
machine = bench.SupportVectorRegressor(bench.Gaussian(2.0), **options)
bench.warnings.simplefilter("ignore")
machine.fit(X[:100], y[:100])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
machine.fit(X, y)
peak = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / (8 * {m}**2)
print(f"{name}, m = {m}: {{peak:.1f}}", flush=True)
"""


def compare_solvers(name, loss, m, C, tol, solvers, rounds=2):
    X, y = DATA[name][0](m)
    problem = program(X, y, loss, C)
    dense = replace(problem, gram=Gaussian(WIDTH)(X))
    best = {}
    for _ in range(rounds):
        for solver in solvers:
            of_solver = dense if SOLVERS[solver].needs_matrix else problem
            if SOLVERS[solver].refusal(of_solver) is None:
                seconds, result = timed(lambda s=solver, p=of_solver: SOLVERS[s].solve(p, tol=tol))
                best[solver] = min(best.get(solver, np.inf), seconds)
                assert isinstance(result, SolverResult)
                assert result.status == "optimal"
    shown = ", ".join(f"{solver} {seconds:.3f}" for solver, seconds in best.items())
    print(f"{loss!r}, tol {tol:.0e}, m = {m}, C = {C:g}: {shown}   (reach {problem.reach:.0f})", flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    parts = {f.__name__: f for f in (fit, growth, predict, losses, path, floor, large, ridge, crossover, nu, memory)}
    for part in sys.argv[1:] or parts:
        parts[part]()
