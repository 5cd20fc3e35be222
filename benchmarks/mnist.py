"""Test errors of networks on MNIST beside PCA's, as the table of docs/networks.md: one run of `mlcli` for each row.

`python benchmarks/mnist.py --help`; the images are the 60,000 to learn from and then the 10,000 to judge by.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

LEARNED = 60_000
NOISE = 0.5  # standard deviation of the noise of corrupted images, in that of the pixels together
DEEP = ("method.layers=[500,250]", "method.learning.batch=64", "method.learning.rate=0.002",
        "method.learning.validation=0.05")
KINDS: dict[str, tuple[str, tuple[str, ...]]] = {
    "PCA": ("pca", ()),
    "autoencoder": ("autoencoder", DEEP),
    "denoising": ("autoencoder", (*DEEP, f"method.corruption={{name: gaussian, deviation: {NOISE}}}")),
    "sparse": ("autoencoder", (*DEEP, "method.sparsity={name: kl, target: 0.1}")),
    "vae": ("vae", (*DEEP, "method.likelihood.name=bernoulli")),
}


def called(*arguments: object) -> tuple[float, float]:
    """Runs `mlcli`; its seconds, and the processor's."""
    begun, before = time.monotonic(), os.times()
    subprocess.run([sys.executable, "-P", "-m", "mlcli", *map(str, arguments), "-q"], check=True)
    after = os.times()
    return time.monotonic() - begun, sum(after[2:4]) - sum(before[2:4])


def there_and_back(run: Path, images: Path, folder: Path) -> tuple[Any, Any]:
    """Codes of images by a finished run, and the images that come back from them."""
    codes, back = folder / "codes.npy", folder / "back.npy"
    called("project", run, images, "-o", codes, "--force")
    called("reconstruct", run, codes, "-o", back, "--force")
    return np.load(codes), np.load(back)


def main() -> None:
    """Trains, judges, and prints a line of Markdown for each kind of network and number of axes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("images", type=Path, help="all 70,000 images as .npy, with gray levels from 0 to 255")
    parser.add_argument("folder", type=Path, help="where the runs are kept")
    parser.add_argument("--axes", type=int, nargs="+", default=[2, 16])
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=KINDS)
    parser.add_argument("--epochs", type=int, default=20)
    given = parser.parse_args()
    folder = given.folder
    folder.mkdir(exist_ok=True)
    images = np.load(given.images).reshape(-1, 28 * 28) / 255
    learned, clean = images[:LEARNED], images[LEARNED:]
    scale = np.sqrt(learned.var(axis=0)[learned.std(axis=0) > 0].mean())
    noisy = clean + NOISE * scale * np.random.default_rng(0).standard_normal(clean.shape)
    for name, rows in (("learned", learned), ("clean", clean), ("noisy", noisy)):
        np.save(folder / f"{name}.npy", rows)
    print("| axes | method | error | of noisy images | mean code | seconds | processor seconds | fit |")
    print("|---" * 8 + "|")
    for axes in given.axes:
        for kind in given.kinds:
            method, options = KINDS[kind]
            settings = [*options, *([f"method.learning.epochs={given.epochs}"] if options else [])]
            run = folder / f"{kind}-{axes}"
            spent = called("embed", folder / "learned.npy", "-m", method, "-p", axes, "-o", run, "--force",
                           "--set", "report.image=[28,28]", *(f"--set={setting}" for setting in settings))
            codes, back = there_and_back(run, folder / "clean.npy", folder)
            mended = there_and_back(run, folder / "noisy.npy", folder)[1]
            fit = json.loads((run / "run.json").read_text())["fit"]
            print(f"| {axes} | {kind} | {np.mean((back - clean) ** 2):.5f} | {np.mean((mended - clean) ** 2):.5f} | "
                  f"{codes.mean():.4f} | {spent[0]:.0f} | {spent[1]:.0f} | {json.dumps(fit)} |", flush=True)


if __name__ == "__main__":
    main()
