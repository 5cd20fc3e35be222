#!/usr/bin/env bash
# Installs the oldest versions that pyproject.toml allows, and runs the tests with them.
# Usage: scripts/bounds.sh [PYTHON] [OPTION OF pytest...]   (a Python that has venv)
set -euo pipefail
cd "$(dirname "$0")/.."
python=${1:-python3}
[ $# -gt 0 ] && shift
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$python" - > "$work/oldest" <<'PY'
import re
import tomllib
with open("pyproject.toml", "rb") as file:
    project = tomllib.load(file)["project"]
extras = project["optional-dependencies"]
wanted = [line for lines in (project["dependencies"], *extras.values()) for line in lines]
for line in wanted:
    if not line.startswith(project["name"]):
        print(re.sub(r">=([^,;]+)(,[^;]+)?", r"==\1", re.sub(r"\[[^]]*\]", "", line)))  # constraints name no extras
PY
cat "$work/oldest"
"$python" -m venv "$work/venv"
said=$(PIP_CONSTRAINT= MLCLI_REQUIRE_NATIVE=1 MLCLI_LEVELS=all "$work/venv/bin/pip" install --quiet --constraint "$work/oldest" '.[test]' 2>&1) || {
  echo "$said" >&2
  exit 1
}
if grep "yanked version" <<< "$said" >&2; then  # which pip installs where it is asked for by number, and nowhere else
  echo "a release was withdrawn after it became the oldest allowed: raise its bound in pyproject.toml" >&2
  exit 1
fi
# not by -m pytest, which would import the source tree; an old package may call what another has deprecated since
"$work/venv/bin/pytest" -W ignore::DeprecationWarning "$@"
