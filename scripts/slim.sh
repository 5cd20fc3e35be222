#!/usr/bin/env bash
# Removes from installed packages what mlcli never loads: for the image, where nothing else uses them.
# Usage: scripts/slim.sh PREFIX   (of a virtual environment that has mlcli)
# docs/containers.md says what it saves.
set -euo pipefail
cd "$1"/lib/python3*/site-packages

# the packages' own tests; what only type checkers and compilers read
for package in fontTools matplotlib mpl_toolkits numpy pyarrow scipy; do
    [ ! -d "$package" ] || find "$package" -type d -name tests -prune -exec rm -r {} +
done
find . -type f \( -name '*.pyi' -o -name '*.pxd' -o -name '*.pyx' -o -name '*.h' -o -name '*.hpp' -o -name '*.a' \) -delete
rm -rf pyarrow/include pyarrow/src matplotlib/mpl-data/sample_data

# Arrow's client of Flight servers, and the other names of a library that is loaded by its version's name
find pyarrow -maxdepth 1 -name 'libarrow_*flight.so*' -delete
rm -f pyarrow/_flight.* pyarrow/libarrow_python.so pyarrow/libarrow_python.so.*.*
