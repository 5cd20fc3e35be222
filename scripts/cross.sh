#!/usr/bin/env bash
# Cross-compiles the native kernels for aarch64, warnings being errors, and runs their tests under emulation.
# Usage: scripts/cross.sh [PYTHON]   (a Python that has pip and nanobind)
# Needs CMake, debootstrap, qemu-user and g++-aarch64-linux-gnu. Python for aarch64 comes from Debian (SUITE and MIRROR
# choose another one than this machine's), packages from where pip finds them; SYSTEM names a folder that keeps Python
# for the next time.
set -euo pipefail
cd "$(dirname "$0")/.."
python=$(command -v "${1:-python}")
work=$(mktemp -d)
system=${SYSTEM:-$work/system}
trap 'rm -rf "$work"' EXIT

logged() { "$@" > "$work/log" 2>&1 || { cat "$work/log"; exit 1; }; }

unpacked() { # Debian packages of Python, not installed: nothing of theirs has to run
    logged debootstrap --foreign --arch=arm64 --variant=minbase --include=python3-dev \
        "${SUITE:-$(. /etc/os-release && echo "$VERSION_CODENAME")}" "$work/packages" ${MIRROR:+"$MIRROR"}
    for package in "$work"/packages/var/cache/apt/archives/*.deb; do dpkg -x "$package" "$system.new"; done
    mv "$system.new" "$system"
}

required() { # what the project and its tests need on every machine
    "$python" - <<'PY'
import tomllib
with open("pyproject.toml", "rb") as file:
    project = tomllib.load(file)["project"]
wanted = project["dependencies"] + project["optional-dependencies"]["test"]
print(*(line for line in wanted if ";" not in line and not line.startswith(project["name"])), sep="\n")
PY
}

[ -d "$system" ] || unpacked
version=$(cd "$system/usr/bin" && ls -d python3.[0-9]*[0-9])
cmake -S mlcli/native -B "$work/build" -Wno-dev -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 \
    -DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++ -DCMAKE_CXX_FLAGS="-Wall -Werror -isystem $system/usr/include" \
    -DPython_EXECUTABLE="$python" -DPython_INCLUDE_DIR="$system/usr/include/$version" -DNB_SUFFIX=.so \
    -Dnanobind_DIR="$("$python" -m nanobind --cmake_dir)" > "$work/log" 2>&1 || { cat "$work/log"; exit 1; }
logged cmake --build "$work/build" -j "$(nproc)"
required > "$work/requirements"
logged "$python" -m pip install --target "$work/site" --only-binary :all: --python-version "${version#python}" \
    --platform manylinux2014_aarch64 --platform manylinux_2_28_aarch64 --requirement "$work/requirements"

mkdir "$work/copy"
cp -r mlcli tests "$work/copy/"
rm -f "$work"/copy/mlcli/native/_kernels*.so
cp "$work"/build/_kernels*.so "$work/copy/mlcli/native/_kernels.so"
# The path stands in the command: tests start Python anew without the variables that this one was started with.
printf '#!/bin/sh\nPYTHONPATH="%s" exec qemu-aarch64 -L "%s" "%s" "$@"\n' "$work/copy:$work/site" "$system" \
    "$system/usr/bin/$version" > "$work/emulated"
chmod +x "$work/emulated"
# Tests start Python anew by its own name, which this kernel cannot run.
printf 'import sys\nsys.executable = "%s"\n' "$work/emulated" > "$work/site/emulated.py"
# The kernels for a processor with SVE, OpenBLAS's, give wrong products under emulation now and then.
export MLCLI_REQUIRE_NATIVE=1 OPENBLAS_NUM_THREADS=1 QEMU_CPU=${QEMU_CPU:-cortex-a57}
cd "$work/copy"
"$work/emulated" -c 'import platform
from mlcli import native
print("kernels under emulation:", platform.machine(), native.describe())'
"$work/emulated" -m pytest -q -p emulated -p no:cacheprovider -o addopts= tests/native
