"""Small runs of every method as each version wrote them, which every later version opens: `add.py` adds those of one.

A folder for each version has an archive for each method. It holds, for each way of the method, the data, the run, new
rows, and what the version made of them: coordinates, features and an exported ordination, at full precision.
"""
