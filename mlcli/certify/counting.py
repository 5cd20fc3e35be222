"""Whether an eigenvalue was left out: by a probe of the kernel with the found axes taken away, or by inertia."""

from collections.abc import Callable

import numpy as np

from mlcli.base.check import Check, count, ratio, skipped
from mlcli.base.types import Array
from mlcli.certify.kernel import Rows, centered, slack
from mlcli.certify.subject import Subject

WIDTH = 4  # vectors of a probe
STEPS = 6  # products with the kernel that it takes
LEFT = (1e-8, 0.5, 0.5)  # length that a unit vector must keep when what is known is taken from it, each time
ERRORS = 6.0  # standard errors beyond which a sampled figure counts
INERTIA = 5000  # points up to which LDLᵀ is worth its n³/3
MOST = 160  # rows of a sample
FEWEST = 32  # rows below which a sample tells too little


def nothing_above(subject: Subject, rows: Rows) -> Check:
    """No eigenvalue above the last one kept was left out."""
    if len(subject.values) >= rows.raw.shape[1] - 1:
        return skipped("count", "every axis that there is was kept")
    if rows.whole:
        return probed(subject, centered(subject, rows), slack(subject, rows))
    return _sampled(subject, rows) if len(rows.chosen) >= FEWEST else skipped(
        "count", f"too few rows of the kernel fit in the time: {len(rows.chosen)}")


def probed(subject: Subject, kernel: Array, allowed: float) -> Check:
    """Block Lanczos from a seeded start, off the found axes: its largest Ritz value is below the next eigenvalue."""
    found = ritz(lambda block: kernel @ block, unit_axes(subject), len(kernel), subject.seed)
    return ratio("count", max(found - next_value(subject), 0.0), allowed,
                 f"largest eigenvalue off the axes kept, by {STEPS} steps of block Lanczos: {found:.6g}, and the next "
                 f"one is {next_value(subject):.6g}")


def next_value(subject: Subject) -> float:
    """What no eigenvalue off the kept axes may pass: the next one where it was computed, else the last one kept."""
    kept = subject.embedding.shape[1]
    solved = subject.model.spectrum.solved
    return float(solved[kept]) if len(solved) > kept else float(subject.values.min(initial=np.inf))


def unit_axes(subject: Subject) -> Array:
    """An orthonormal basis of the axes kept and the constant vector."""
    coordinates = subject.carriers
    kept = coordinates[:, np.any(coordinates != 0, axis=0)]
    constant = np.ones((len(coordinates), 1))
    return np.asarray(np.linalg.qr(np.column_stack([constant, kept / np.linalg.norm(kept, axis=0)]))[0])


def ritz(apply: Callable[[Array], Array], found: Array, size: int, seed: int) -> float:
    """The largest Ritz value of a symmetric operator off the span of some orthonormal vectors."""
    block = np.random.default_rng(seed).standard_normal((size, min(WIDTH, size)))
    basis = np.zeros((size, 0))
    images = np.zeros((size, 0))
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


def _sampled(subject: Subject, rows: Rows) -> Check:
    """A direction found from half of the rows, its Rayleigh quotient estimated on the others.

    A sample can prove that an eigenvalue was left out, never that none was.
    """
    coordinates, size = subject.carriers, rows.raw.shape[1]
    means = subject.projector.centering.means
    order = np.random.default_rng(subject.seed + 1).permutation(len(rows.chosen))[:MOST]
    chosen = rows.chosen[order]
    rest = rows.raw[order] - means - means[chosen][:, None] + means.mean()
    values = np.where(subject.values > 0, subject.values, 1.0)
    rest -= (coordinates[chosen] * np.where(subject.values > 0, 1.0, 0.0)) @ coordinates.T
    left, right = np.arange(len(order) // 2), np.arange(len(order) // 2, len(order))
    small = rest[left][:, chosen[left]]
    direction = rest[left].T @ np.linalg.eigh((small + small.T) / 2)[1][:, -1]
    direction -= coordinates @ ((coordinates / values).T @ direction)
    length = float(np.linalg.norm(direction))
    if length == 0:
        return ratio("count", 0.0, 1.0, "nothing is left of the kernel on a sample of rows", exact=False)
    direction /= length
    terms = size * direction[chosen[right]] * (rest[right] @ direction)
    estimate, error = float(terms.mean()), float(terms.std() / np.sqrt(len(terms)))
    surplus = estimate - ERRORS * error - next_value(subject)
    words = (f"a direction off the axes kept has the quotient {estimate:.4g} +- {error:.2g} on a sample; "
             f"the next eigenvalue is {next_value(subject):.4g}")
    return ratio("count", max(surplus, 0.0), slack(subject, rows), words, exact=False)


def by_inertia(subject: Subject, kernel: Array, allowed: float) -> Check:
    """Sylvester's law: LDLᵀ of K - s I has as many positive pivots as K has eigenvalues above s."""
    values = subject.values[subject.values > 10 * allowed]
    if not len(values):
        return skipped("inertia", "no kept eigenvalue is above rounding")
    last = float(values[-1])
    above, all_of = (positive_pivots(kernel - shift * np.eye(len(kernel)))
                     for shift in (last + 10 * allowed, last - 10 * allowed))
    wrong = max(above - (len(values) - 1), 0) + max(len(values) - all_of, 0)
    return count("inertia", wrong, f"LDLᵀ counts {above} eigenvalues above the last one kept and {all_of} from it on")


def positive_pivots(matrix: Array) -> int:
    """How many eigenvalues of a symmetric matrix are positive, from the 1 x 1 and 2 x 2 blocks of its LDLᵀ."""
    from scipy.linalg import ldl

    blocks = ldl(matrix, check_finite=False)[1]
    off = np.append(np.diag(blocks, -1), 0.0)
    paired = off != 0  # a 2 x 2 block has one eigenvalue of each sign, or two of its diagonal's
    second = np.append(False, paired[:-1])
    single = np.diag(blocks)[~paired & ~second]
    first = np.flatnonzero(paired)
    pairs = np.array([blocks[i : i + 2, i : i + 2] for i in first]).reshape(-1, 2, 2)
    return int(np.sum(single > 0)) + int(np.sum(np.linalg.eigvalsh(pairs) > 0))
