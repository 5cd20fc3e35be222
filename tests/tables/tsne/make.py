"""t-SNE of ../../../sample_data/us_arrests.csv by openTSNE 1.0.4: python make.py, in this folder.

`affinities.csv` and `scales.csv` hold P (50 x 50) at perplexity 10, and at 3 and 12 together, over exact neighbors.
`after_20.csv` holds coordinates after 20 steps with exaggeration 12 from principal components, with its own steps and
the exact gradient; `summary.json` the divergences after its 250 + 500 steps, with that gradient, and with its trees of
opening angle zero, at two degrees of freedom.
"""

import json
from pathlib import Path

import numpy as np
from openTSNE import TSNEEmbedding
from openTSNE.affinity import Multiscale, PerplexityBasedNN, PrecomputedAffinities

POINTS = np.loadtxt("../../../sample_data/us_arrests.csv", delimiter=",", skiprows=1, usecols=(1, 2, 3, 4))
CENTERED = POINTS - POINTS.mean(axis=0)
AXES = np.linalg.svd(CENTERED, full_matrices=False)[2][:2].T
START = CENTERED @ (AXES * np.sign((CENTERED @ AXES)[np.abs(CENTERED @ AXES).argmax(axis=0), [0, 1]]))
START *= 1e-4 / START[:, 0].std()


def exact(embedding, affinities, dof=1, **_):
    """Return divergence and gradient by all pairs."""
    places, shares = np.asarray(embedding), affinities.toarray()
    shrunk = 1 / (1 + np.sum((places[:, None] - places) ** 2, axis=2) / dof)
    kernel = shrunk**dof
    np.fill_diagonal(kernel, 0)
    pulls, there = (shares - kernel / kernel.sum()) * shrunk, shares > 0
    energy = np.sum(shares[there] * np.log(shares[there] / kernel[there])) + shares.sum() * np.log(kernel.sum())
    return energy, pulls.sum(axis=1)[:, None] * places - pulls @ places


def embed(shares, early, steps, **options):
    """Return the embedding after so many steps."""
    found = TSNEEmbedding(START.copy(), PrecomputedAffinities(shares.copy()), **options)
    found = found.optimize(n_iter=early, exaggeration=12, momentum=0.8)
    return found.optimize(n_iter=steps, momentum=0.8) if steps else found


def save(name, values):
    """Write a table of 17 digits."""
    np.savetxt(name, values, delimiter=",", fmt="%.17g")


joint = PerplexityBasedNN(POINTS, perplexity=10, method="exact").P
save("affinities.csv", joint.toarray())
save("scales.csv", Multiscale(POINTS, perplexities=[3, 12], method="exact").P.toarray())
save("after_20.csv", embed(joint, 20, 0, negative_gradient_method=exact))
ENDS = {f"{name}_{dof}": float(embed(joint, 250, 500, dof=dof, **way).kl_divergence) for dof in (1.0, 0.5)
        for name, way in (("exact", {"negative_gradient_method": exact}),
                          ("trees", {"negative_gradient_method": "bh", "theta": 0.0}))}
Path("summary.json").write_text(json.dumps(ENDS, indent=1) + "\n", encoding="utf-8")
