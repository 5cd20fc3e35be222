"""What holds of eigenpairs: what spectrum and coordinates say of each other, and that no eigenvalue was left out."""

from collections.abc import Callable, Iterator

import numpy as np

from mlcli.base.check import EPS, Check, count, ratio, skipped
from mlcli.base.types import Array
from mlcli.certify.subject import Subject

WIDTH = 4  # vectors of a probe
STEPS = 6  # products with the operator that it takes
LEFT = (1e-8, 0.5, 0.5)  # length that a unit vector must keep when what is known is taken from it, each time
INERTIA = 5000  # points up to which LDLᵀ is worth its n³/3


def spectral(subject: Subject, claimed: bool, unit: bool) -> Iterator[Check]:
    """Checks that need no input: of all numbers; where axes are eigenvectors, of them, as long as √λ or the unit √n."""
    spectrum = subject.model.spectrum
    parts = {"embedding": subject.embedding, "eigenvalues": spectrum.solved, "axes": subject.projector.axes,
             "means": subject.projector.centering.means}
    wrong = sum(int(np.size(part) - np.isfinite(part).sum()) for part in parts.values())
    yield count("finite", wrong, f"numbers that are not finite in {', '.join(parts)}")
    if wrong or not claimed:
        return
    wrong = int(np.sum(np.diff(spectrum.solved) > 0)) + max(len(subject.values) - len(spectrum.solved), 0)
    yield count("order", wrong, "eigenvalues that are larger than the one before, or missing for an axis")
    yield _sum(subject)
    if (subject.fit < 0).any():
        yield skipped("orthogonality", "without the input it is not known which rows carried the fit")
        return
    coordinates, size = subject.carriers, float(subject.size) if unit else subject.top
    lengths = np.full(len(subject.values), size) if unit else subject.values
    allowed = (subject.rounding + spectrum.tolerance) * size
    gap = coordinates.T @ coordinates - np.diag(lengths)
    yield ratio("orthogonality", float(np.abs(gap).max(initial=0.0)), allowed * subject.placing,
                "YᵀY = n I" if unit else "YᵀY = Λ, the eigenvalues kept")
    if subject.projector.centering.across or unit:
        # the constant vector is no part of any axis; centering takes the means away, and leaves their rounding
        sums = np.abs(coordinates.sum(axis=0)) * np.sqrt(lengths / max(len(coordinates), 1))
        means = EPS * len(coordinates) * float(np.abs(subject.projector.centering.means).max(initial=0.0))
        yield ratio("centering", float(sums.max(initial=0.0)), allowed + means, "column sums of Y are zero")


def _sum(subject: Subject) -> Check:
    """The sum of all eigenvalues is the trace."""
    spectrum = subject.model.spectrum
    if not np.isfinite(spectrum.solved_trace) or not spectrum.complete:
        return skipped("sum", "only the top of the spectrum was computed, or the trace is not known")
    scale = subject.rounding * max(float(np.abs(spectrum.solved).sum()), abs(spectrum.solved_trace))
    return ratio("sum", abs(float(spectrum.solved.sum()) - spectrum.solved_trace), scale,
                 "Σλ = the trace that the run states")


def worst(gaps: Array, sizes: Array | float) -> float:
    """The largest gap over its size; none where there is no gap."""
    return float(np.divide(gaps, sizes, out=np.zeros_like(gaps), where=gaps > 0).max(initial=0.0))


def next_value(subject: Subject) -> float:
    """What no eigenvalue off the kept axes may pass: the next one where it was computed, else the last one kept."""
    kept = subject.embedding.shape[1]
    solved = subject.model.spectrum.solved
    return float(solved[kept]) if len(solved) > kept else float(subject.values.min(initial=np.inf))


def basis(columns: Array, *more: Array) -> Array:
    """An orthonormal basis of the columns that are not zero, and of other vectors."""
    kept = columns[:, np.any(columns != 0, axis=0)]
    return np.asarray(np.linalg.qr(np.column_stack([*more, kept / np.linalg.norm(kept, axis=0)]))[0])


def nothing_above(apply: Callable[[Array], Array], known: Array, seed: int, bound: float, allowed: float) -> Check:
    """No eigenvalue off the span of some orthonormal vectors passes a bound, by block Lanczos from a seeded start."""
    found = ritz(apply, known, seed)
    return ratio("count", max(found - bound, 0.0), allowed, f"largest eigenvalue off the axes, by {STEPS} steps of "
                 f"block Lanczos: {found:.6g}; it may be {bound:.6g}")


def ritz(apply: Callable[[Array], Array], found: Array, seed: int) -> float:
    """The largest Ritz value of a symmetric operator off the span of some orthonormal vectors."""
    size = len(found)
    block = np.random.default_rng(seed).standard_normal((size, min(WIDTH, size)))
    basis, images = np.zeros((size, 0)), np.zeros((size, 0))
    for _ in range(STEPS):
        lengths = np.linalg.norm(block, axis=0)
        block = block[:, lengths > 0] / lengths[lengths > 0]
        for least in LEFT:  # again for what nearly dependent columns let in
            block = block - found @ (found.T @ block)
            block = block - basis @ (basis.T @ block)
            block, triangle = np.linalg.qr(block)
            block = block[:, np.abs(np.diag(triangle)) > least]
        if not block.shape[1] or basis.shape[1] + found.shape[1] + block.shape[1] > size:
            break
        image = apply(block)
        basis, images = np.column_stack([basis, block]), np.column_stack([images, image])
        block = image
    if not basis.shape[1]:
        return -float("inf")
    small = basis.T @ images
    return float(np.linalg.eigvalsh((small + small.T) / 2)[-1])


def counted(matrix: Array, values: Array, allowed: float) -> Check:
    """Sylvester's law: LDLᵀ of A - s I has as many positive pivots as A has eigenvalues above s."""
    values = values[values > 10 * allowed]
    if not len(values):
        return skipped("count", "no kept eigenvalue is above rounding")
    above, all_of = (positive_pivots(matrix - (values[-1] + gap) * np.eye(len(matrix)))
                     for gap in (10 * allowed, -10 * allowed))
    wrong = max(above - (len(values) - 1), 0) + max(len(values) - all_of, 0)
    return count("count", wrong, f"LDLᵀ counts {above} eigenvalues above the last one kept and {all_of} from it on")


def positive_pivots(matrix: Array) -> int:
    """How many eigenvalues of a symmetric matrix are positive, from the 1 x 1 and 2 x 2 blocks of its LDLᵀ."""
    from scipy.linalg import ldl

    blocks = ldl(matrix, check_finite=False)[1]
    off = np.append(np.diag(blocks, -1), 0.0)
    paired = off != 0  # a 2 x 2 block has one eigenvalue of each sign, or two of its diagonal's
    second = np.append(False, paired[:-1])
    single = np.diag(blocks)[~paired & ~second]
    pairs = np.array([blocks[i : i + 2, i : i + 2] for i in np.flatnonzero(paired)]).reshape(-1, 2, 2)
    return int(np.sum(single > 0)) + int(np.sum(np.linalg.eigvalsh(pairs) > 0))
