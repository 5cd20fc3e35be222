"""Execution of blocks of work: on the threads of this process, or by another executor.

Blocks run in two ways; one module starts threads for them (`base/rows/blocks.py`):

- A function for every few rows of an array in memory: `each(work, row_blocks(rows, numbers, width))`, or
  `in_order(...)` where every block gives a result.
- A block as a value (`executor.py`): a number and a source that can be pickled, with `blocks`, `work(number)` and
  `stop()`. `results(source)` runs it on the same threads, or inside `running_on(executor, workers)` on any executor,
  such as a Dask cluster (`cluster/`).

Results come in the order of the blocks, with few of them before the next result. On an error or an early end no
further block starts, and those that have started are waited for. Linear algebra runs on one thread in each block, and
sums are divided in the same way for any number of threads, so results do not depend on it.

To another machine, a source is sent as a short message (`cluster/serialize.py`): large arrays by the hash of their
content, `lasting` values once for each process, and values with a `recipe` as their inputs.
"""
