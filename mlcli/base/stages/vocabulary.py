"""The names of the stages, each with what it does, but those of findings, which say it themselves.

`@stage`, `running` and `Step` know no other names, and `docs/stages.md` is made of them. Take a name that is there if
it says what your stage does: every method's matrix of similarities is the `kernel`. A run lists each name once, in
the order in which stages first started.
"""

from collections.abc import Mapping

COMPUTED: Mapping[str, str] = {  # what comes before findings, in about the order in which a run has them
    "read": "Reads the input, computes its hash and checks its numbers.",
    "prepare": "Fills, drops or scales as `prepare` says, and brings the data to units whose squares stay in range.",
    "reduce": "Replaces the columns by their leading principal components, as `prepare.reduce` says.",
    "neighbors": "Finds the neighbors of every point.",
    "fewer neighbors": "Takes the first neighbors from the lists of a search for more.",
    "graph": "Joins neighbors to a graph and makes sure that it is in one piece.",
    "distances": "Computes the distances of all pairs of points, or takes the given ones.",
    "weights": "Computes the weights of the edges of the neighbor graph.",
    "tangents": "Finds the tangent space of every neighborhood, and the functionals that vanish on it.",
    "paths": "Chooses how to find shortest paths; finds them here where they are stored.",
    "elimination": "Eliminates the points of the graph one after the other; all shortest paths follow from the rest.",
    "unfold": "Solves the semidefinite program of an unfolding.",
    "whitening": "Centers the columns and turns them into uncorrelated ones of equal variance.",
    "residuals": "Finds the axes along which rows of counts or answers differ most, from standardized residuals.",
    "discriminants": "Finds the directions in which classes differ most, relative to their spread.",
    "styles": "Averages the rows of each style with each content, and finds the factors of these means.",
    "correlations": "Finds the pairs of directions of two views that are most correlated.",
    "polychoric correlations": "Estimates the correlations of the normal variables behind ordered answers.",
    "constraints": "Finds which columns of the second view are independent, and a basis of what they explain.",
    "permutations": "Permutes the rows, and counts how often constraints then explain as much.",
    "slow features": "Finds the directions that change most slowly from row to row.",
    "covariance": "Centers the columns and computes their cross products.",
    "rate": "Chooses the rate of the gaussian kernel by the median distance.",
    "correction": "Finds the constant that makes dissimilarities Euclidean.",
    "walk": "Computes the steps of a random walk between points or clusters of points, and how many to take.",
    "kernel": "Computes the kernel matrix, the inner products of all pairs of points.",
    "centering": "Moves the origin to the mean of the points.",
    "eigensolve": "Computes eigenvalues and eigenvectors, and with them the coordinates.",
    "iterate": "Improves the fit step by step until it has converged.",
    "training": "Trains a network, epoch by epoch.",
    "coordinates": "Computes the coordinates of every point from the fitted model.",
    "decoder": "Fits the map from coordinates back to features, and measures its error on the training rows.",
    "reconstruct": "Maps coordinates back to features.",
}
OTHERS: Mapping[str, str] = {  # what comes after findings; then the stages of other commands
    "write": "Writes the files of the run and computes their hashes.",
    "keep": "Writes what `report.keep` asks for of what the fit made.",
    "certify": "Computes results again by other means, and compares.",
    "project": "Places new points on the axes of a run.",
    "compare": "Compares embeddings of the same points.",
    "relate": "Relates variables of the rows to an embedding.",
    "features": "Examines the columns and rows of a table.",
    "metric": "Examines whether a matrix of dissimilarities holds distances.",
    "triangle inequality": "Looks for three points of which two are farther apart than by way of the third.",
    "euclidean": "Examines whether dissimilarities are distances of points in a Euclidean space.",
    "definiteness": "Examines whether a matrix holds inner products.",
    "concentration": "Examines how much the distances of pairs differ.",
}
