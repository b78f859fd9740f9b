"""Independence tests, canonical correlations, bounds of information, contrastive features: time, memory, how good.

Beside them: HSIC with whole Gram matrices in NumPy, scikit-learn's CCA and KernelPCA, the exact critic, and hyppo and
cca_zoo where they are installed. USPS digits where the folder is at hand (MERCER_DATA). Names on the command line
choose among hsic, cca, bounds, contrastive and denoising.
"""

from __future__ import annotations

import importlib.util
import resource
import sys
import time
import warnings

import numpy as np
from sklearn.cross_decomposition import CCA
from sklearn.decomposition import KernelPCA
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mercer import ContrastiveFeatures, KernelCCA, KernelCritic, KernelDenoiser
from mercer.datasets import load_usps
from mercer.encoders import Shift
from mercer.information import hsic, independence_test, infonce
from mercer.kernels import Gaussian

N_SEEDS = 5


def title(text):
    print(f"\n{text}\n{'-' * len(text)}", flush=True)


def timed(run):
    """Wall and CPU seconds, and the result."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = run()
    return time.perf_counter() - wall, time.process_time() - cpu, result


def tell(name, wall, cpu, rest=""):
    print(f"{name:52}{wall:9.2f} s{cpu:9.2f} s of CPU  {rest}", flush=True)


def related(n, d, seed=0):
    """Two tables that share one normal column, the second one by its cosine."""
    rng = np.random.default_rng(seed)
    t = rng.normal(size=(n, 1))
    return np.hstack([t, rng.normal(size=(n, d - 1))]), np.hstack([np.cos(2 * t), rng.normal(size=(n, d - 1))])


def plain_hsic(X, Y):
    """With bias, from whole matrices."""
    K, L = Gaussian.scaled_to(X)(X), Gaussian.scaled_to(Y)(Y)
    K -= K.mean(axis=0)
    L -= L.mean(axis=0)
    return np.sum(K * L.T) / len(X) ** 2


def compare_hsic():
    title("HSIC at rank 500, Gaussian kernels")
    for n, d in ((3000, 5), (15_000, 5), (15_000, 20)):
        X, Y = related(n, d)
        *spent, value = timed(lambda X=X, Y=Y: hsic(X, Y, unbiased=False))
        tell(f"n = {n}, {d} columns: statistic", *spent, f"{value:.3e}")
        if n == 3000:
            *spent, value = timed(lambda X=X, Y=Y: plain_hsic(X, Y))
            tell("    whole matrices", *spent, f"{value:.3e}")
        *spent, test = timed(lambda X=X, Y=Y: independence_test(X, Y, method="gamma"))
        tell("    test by moments", *spent, f"p = {test.p_value:.1e}")
        *spent, test = timed(lambda X=X, Y=Y: independence_test(X, Y, method="permutation", random_state=0))
        tell("    test by 1,000 permutations", *spent, f"p = {test.p_value:.1e}")
    if importlib.util.find_spec("hyppo"):
        from hyppo.independence import Hsic

        X, Y = related(1000, 5)
        *spent, found = timed(lambda: Hsic().test(X, Y, reps=100, workers=1, auto=False))
        tell("hyppo, n = 1000, 100 permutations", *spent, f"p = {found[1]:.1e}")
        *spent, test = timed(lambda: independence_test(X, Y, method="permutation", n_permutations=100))
        tell("the same here", *spent, f"p = {test.p_value:.1e}")


def compare_cca():
    title("Canonical correlations, n = 50,000, at most 500 landmarks")
    for d in (3, 20):
        X, Y = related(50_000, d)
        *spent, cca = timed(lambda X=X, Y=Y: KernelCCA(2, random_state=0).fit(X, Y))
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        told = f"held out {cca.held_out_correlations_.round(3)}, fitted {cca.correlations_.round(3)}, {memory:.2f} GiB"
        tell(f"KernelCCA, {d} columns", *spent, told)
    *spent, linear = timed(lambda: CCA(2, max_iter=2000).fit(X, Y))
    a, b = linear.transform(X, Y)
    tell("scikit-learn's CCA (linear)", *spent, f"fitted {np.corrcoef(a[:, 0], b[:, 0])[0, 1]:.3f}")
    if importlib.util.find_spec("cca_zoo"):
        from cca_zoo.nonparametric import KCCA

        X, Y = related(1000, 3)
        model = KCCA(latent_dimensions=2, kernel="rbf", c=0.1)
        *spent, _ = timed(lambda: model.fit([X, Y]))
        tell("cca_zoo's KCCA, n = 1,000", *spent)
        *spent, _ = timed(lambda: KernelCCA(2, penalty=0.1).fit(X, Y))
        tell("the same here", *spent)


def exact_critic(x, y, rho):
    x, y = x[:, :, None], y[:, None, :]
    return (2 * rho * x * y - rho**2 * (x**2 + y**2)) / (2 * (1 - rho**2))


def compare_bounds():
    title("Bounds of bivariate normals in nats, N = 64: 2,048 pairs to learn from, 19,200 held out, five seeds")
    print("correlation  information  exact critic   kernel critic: InfoNCE, NWJ, Donsker-Varadhan")
    for rho in (0.0, 0.5, 0.8, 0.95):
        rows = []
        for seed in range(N_SEEDS):
            rng = np.random.default_rng(seed)
            x = rng.normal(size=(2048 + 19_200, 1))
            y = rho * x + np.sqrt(1 - rho**2) * rng.normal(size=x.shape)
            test = [v[2048:].reshape(-1, 64) for v in (x, y)]
            found = [infonce(exact_critic(*test, rho)).value]
            for objective in ("infonce", "nwj", "donsker_varadhan"):
                critic = KernelCritic(rank=12, objective=objective, random_state=seed).fit(x[:2048], y[:2048])
                found.append(critic.bound(x[2048:], y[2048:]).value)
            rows.append(found)
        means, errors = np.mean(rows, axis=0), np.std(rows, axis=0, ddof=1) / np.sqrt(N_SEEDS)
        cells = "  ".join(f"{mean:.3f} ± {error:.3f}" for mean, error in zip(means, errors, strict=True))
        print(f"{rho:11.2f}  {0.0 - 0.5 * np.log(1 - rho**2):11.4f}  {cells}", flush=True)


def probe(Z, y, Z_test, y_test):
    """Errors of a linear probe and of the nearest neighbour, in per cent."""
    linear = make_pipeline(StandardScaler(), LogisticRegression(C=1.0, max_iter=3000)).fit(Z, y)
    nearest = KNeighborsClassifier(1).fit(Z, y)
    return [100 * np.mean(model.predict(Z_test) != y_test) for model in (linear, nearest)]


def compare_contrastive():
    title(
        "USPS, shifts by one pixel, 1,500 rows, 500 landmarks, five draws of the rows: errors on 1,000 test rows in %"
    )
    X, y = load_usps("train")
    X_test, y_test = (part[:1000] for part in load_usps("test"))
    for k in (16, 64):
        rows = {"contrastive features": [], "kernel principal components": []}
        seconds = 0.0
        for seed in range(N_SEEDS):
            some = np.random.default_rng(seed).choice(len(X), 1500, replace=False)
            wall, _, model = timed(
                lambda some=some, seed=seed, k=k: ContrastiveFeatures(
                    k, augment=Shift((16, 16)), random_state=seed
                ).fit(X[some])
            )
            seconds += wall / N_SEEDS
            rows["contrastive features"].append(
                probe(model.transform(X[some]), y[some], model.transform(X_test), y_test)
            )
            width = Gaussian.scaled_to(X[some]).width
            pca = KernelPCA(k, kernel="rbf", gamma=0.5 / width**2).fit(X[some])
            values = probe(pca.transform(X[some]), y[some], pca.transform(X_test), y_test)
            rows["kernel principal components"].append(values)
        for name, values in rows.items():
            means, errors = np.mean(values, axis=0), np.std(values, axis=0, ddof=1) / np.sqrt(N_SEEDS)
            cells = ", ".join(f"{m:.1f} ± {e:.1f}" for m, e in zip(means, errors, strict=True))
            print(f"k = {k}: {name}: probe, nearest neighbour {cells}", flush=True)
        print(f"    {seconds:.1f} s for a fit, width and penalty by held-out loss", flush=True)


def compare_denoising():
    title("USPS digits with noise .5: mean squared error per pixel of 500 test rows, 2000 clean rows to learn from")
    X, T = load_usps("train")[0][:2000], load_usps("test")[0][:500]
    noisy = T + 0.5 * np.random.default_rng(7).normal(size=T.shape)
    cov, mean = np.cov(X, rowvar=False), X.mean(axis=0)
    linear = mean + (noisy - mean) @ np.linalg.solve(cov + 0.25 * np.eye(len(cov)), cov)
    print(f"noisy rows {np.mean((noisy - T) ** 2):.4f}, linear denoiser {np.mean((linear - T) ** 2):.4f}")
    for k in (500, 1000):
        wall, cpu, model = timed(lambda k=k: KernelDenoiser(0.5, n_landmarks=k).fit(X))
        error = np.mean((model.transform(noisy) - T) ** 2)
        tell(f"KernelDenoiser, {k} landmarks", wall, cpu, f"{error:.4f}, {model.kernel_}, penalty {model.penalty_:g}")


def main():
    chosen = sys.argv[1:]
    parts = {
        "hsic": compare_hsic,
        "cca": compare_cca,
        "bounds": compare_bounds,
        "contrastive": compare_contrastive,
        "denoising": compare_denoising,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for name, part in parts.items():
            if not chosen or name in chosen:
                try:
                    part()
                except FileNotFoundError as error:
                    print(f"left out: {error}")


if __name__ == "__main__":
    main()
