"""Several runs: their queue, worker processes and shares.

Several runs at once are processes forked from the command (`workers.py`), each with a slot of the shared status
(`process/shared_status.py`) and a share of the threads. `methods/method.py` is where their fits wait for memory,
and the queue of `workers.py` gives out the runs. Nothing that starts threads of its own, such as JAX or Arrow, may work
in the parent before the fork.
"""
