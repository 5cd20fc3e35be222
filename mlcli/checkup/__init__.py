"""The input doctor: a data set examined before a run."""
