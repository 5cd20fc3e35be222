"""The names of the files in a run directory."""

from mlcli.publication.replaceable import FAILURE, RUN

CONFIG = "config.yaml"
MANIFEST = RUN.name
SPECTRUM = "spectrum.csv"
REPORT = "report.html"
INTERACTIVE = "interactive.html"
QUALITY = "quality.json"
SHEPARD = "shepard.csv"
DIMENSION = "dimension.json"
DIMENSION_TABLE = "dimension.csv"
MODEL = "model.json"
ARRAYS = "model.npz"
CERTIFICATE = "certificate.json"
ERROR = FAILURE.name  # only where a run failed after it had computed something
DROPPED = "dropped.csv"
TRACE = "trace.csv"
SCORES = "reduced.npy"  # what PCA ahead of the method gave it
LOADINGS = "loadings.csv"
POSTERIOR = "posterior.csv"
FORECAST = "forecast.csv"
DECODED = "decoded.npz"
THUMBNAILS = "thumbnails.npz"
STABILITY = "stability.json"
STABILITY_TABLE = "stability.csv"
KEPT = {"graph": "graph.npz", "weights": "weights.npz", "distances": "distances.npy", "kernel": "kernel.npy"}


def embedding(format: str) -> str:
    """The embedding's file name in a format."""
    return f"embedding.{format}"


def figure(name: str, format: str) -> str:
    """The file name of a figure in a format."""
    return f"{name}.{format}"
