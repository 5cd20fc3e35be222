"""Several runs: their queue, worker processes and shares."""
