"""The names of the files in a run directory, but those of findings."""

from mlcli.publication.replaceable import FAILURE, RUN

CONFIG = "config.yaml"
MANIFEST = RUN.name
REPORT = "report.html"
INTERACTIVE = "interactive.html"
MODEL = "model.json"
ARRAYS = "model.npz"
CERTIFICATE = "certificate.json"
ERROR = FAILURE.name  # only where a run failed after it had computed something
DROPPED = "dropped.csv"
SCORES = "reduced.npy"  # what PCA ahead of the method gave it
KEPT = {"graph": "graph.npz", "weights": "weights.npz", "distances": "distances.npy", "kernel": "kernel.npy",
        "uncentered": "uncentered.npy"}


def embedding(format: str) -> str:
    """The embedding's file name in a format."""
    return f"embedding.{format}"


def figure(name: str, format: str) -> str:
    """The file name of a figure in a format."""
    return f"{name}.{format}"
