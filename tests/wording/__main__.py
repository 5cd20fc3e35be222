"""Compares the messages of tests with the snapshot, or renews it and prints old and new; never in CI."""

import os
import subprocess
import sys

from tests.wording import OPTION, RENEW, ROOT, comparing, stored


def main(arguments: list[str]) -> int:
    """Return the exit code of pytest over the tests that compare messages, or of those in the paths given."""
    renew, paths = "--renew" in arguments, [path for path in arguments if path != "--renew"]
    if renew and os.environ.get("CI"):
        sys.exit("the snapshot is renewed by people, never in CI")
    before = stored()
    options = ["-n", "0", "-q", "-m", "", OPTION, RENEW if renew else "compare"]
    command = [sys.executable, "-m", "pytest", *options, *comparing(paths or ["tests"])]
    code = subprocess.run(command, cwd=ROOT, check=False).returncode
    after = stored()
    for test in sorted(before.keys() | after.keys()):
        old, new = before.get(test, []), after.get(test, [])
        for place in range(max(len(old), len(new))):
            lines = [said[place] if place < len(said) else "" for said in (old, new)]
            if lines[0] != lines[1]:
                print(f"\n{test}\n  old: {lines[0] or '(none)'}\n  new: {lines[1] or '(none)'}")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
