#!/usr/bin/env bash
# Builds the native kernels with the address and undefined-behavior sanitizers and runs their tests under them.
# Usage: scripts/sanitize.sh [PYTHON] [OPTION OF pytest...]   (a Python that has mlcli's dependencies, nanobind and pytest)
set -euo pipefail
cd "$(dirname "$0")/.."
python=${1:-python}
shift || true
[[ $python == */* && $python != /* ]] && python=$PWD/$python  # it is called from elsewhere below
export MLCLI_LEVELS=all
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake -S mlcli/native -B "$work/build" -DPython_EXECUTABLE="$(command -v "$python")" \
    -Dnanobind_DIR="$("$python" -m nanobind --cmake_dir)" -DMLCLI_SANITIZE=ON > "$work/configure.log" \
    || { cat "$work/configure.log"; exit 1; }
cmake --build "$work/build" -j "$(nproc)" > "$work/build.log" || { cat "$work/build.log"; exit 1; }

# A copy of the package, and -S against an editable install, which would put its own build before it.
# Leaks are Python's own and not looked for; all instruction sets run, since the tests choose each in turn.
mkdir "$work/copy"
cp -r mlcli tests pyproject.toml "$work/copy/"
rm -f "$work"/copy/mlcli/native/_kernels*.so
cp "$work"/build/_kernels*.so "$work/copy/mlcli/native/"
packages=$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), sep=":")')
cd "$work/copy"
compiler=${CXX:-c++}
export LD_PRELOAD="$("$compiler" -print-file-name=libasan.so) $("$compiler" -print-file-name=libubsan.so) $("$compiler" -print-file-name=libstdc++.so)"
export ASAN_OPTIONS=detect_leaks=0:halt_on_error=1 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
export MLCLI_REQUIRE_NATIVE=1 PYTHONMALLOC=malloc PYTHONPATH=$work/copy:$packages
"$python" -S - <<'PY'
from mlcli import native
from mlcli.native.library import kernels
assert kernels().sanitized, "the build without sanitizers was found"
print("sanitized kernels:", native.describe())
PY
"$python" -S -m pytest -q -p no:cacheprovider -o addopts= -W default --dist load --tx "$(nproc)*popen//python=$python -S" tests/native "$@"
