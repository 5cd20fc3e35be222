"""Values as plain arrays and JSON: archives that store them and keys that distinguish them.

What is stored goes through `archive.py`: frozen values, options, tuples and arrays, as JSON and an npz file, without
pickle. A native object is stored by its `state()`, the arguments that make it again, which are checked like all input
from outside. What a cache may keep is declared by `@result(TAG)`.
"""
