"""The names of the files in a run directory."""

CONFIG = "config.yaml"
MANIFEST = "run.json"
SPECTRUM = "spectrum.csv"
SCREE = "scree.svg"
MODEL = "model.json"
ARRAYS = "model.npz"
DROPPED = "dropped.csv"
TRACE = "trace.csv"
LOADINGS = "loadings.csv"
POSTERIOR = "posterior.csv"


def embedding(format: str) -> str:
    """The embedding's file name in a format."""
    return f"embedding.{format}"
