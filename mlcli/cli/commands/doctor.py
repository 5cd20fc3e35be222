"""`mlcli doctor`: what this machine offers, and whether its linear algebra is right."""

import platform
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

import mlcli
from mlcli.base import units
from mlcli.base.machine import blas, limits, resources
from mlcli.base.machine.rates import read
from mlcli.base.values.plugins import NOUNS, TABLES, installed
from mlcli.cli.line.behavior import Json
from mlcli.cli.screen.output import print_json
from mlcli.cli.screen.progress import warn
from mlcli.cli.screen.terminal import tell
from mlcli.config.run_config import unusable_plugins
from mlcli.errors import NumericalError
from mlcli.rundir.machine import libraries, packages, system

SIZE = 64  # of the test matrix
WORST = 10.0  # residual and departure from orthogonality, in units of size times rounding


Calibrate = Annotated[Path | None, typer.Option("--calibrate", metavar="FILE", show_default=False,
                                                help="Also measure the speed of this machine and write it to FILE, "
                                                    "for `mlcli plan --rates FILE` or MLCLI_RATES.")]


def doctor(json: Json = False, calibrate: Calibrate = None) -> None:
    """Show libraries, threads and memory; test the eigensolver.

    \b
    mlcli doctor
    mlcli doctor --calibrate rates.json
    """
    document = {**facts(), **({} if calibrate is None else {"rates": calibration(calibrate)})}
    if json:
        print_json(document)
    else:
        tell(lines(document))
    warn(unusable_plugins())
    if not document["eigensolver"]["right"]:
        raise NumericalError("SELF-TEST", "the eigensolver gives wrong results on a 64 x 64 matrix",
                             where=", ".join(library["library"] for library in document["blas"]),
                             hint="set OPENBLAS_CORETYPE=Haswell, or install another numpy")


def calibration(path: Path) -> dict[str, Any]:
    """The rates of this machine, which are written to a file that is not there yet, or holds rates."""
    from mlcli.planning.calibrate import measure_rates, store

    if path.exists():
        read(path)  # anything else is not replaced
    measured = measure_rates()
    store(measured, path)
    return {"file": str(path), "seconds": asdict(measured)}


def facts() -> dict[str, Any]:
    """Versions, libraries, cores, memory and the self-test as plain values."""
    import scipy.linalg  # noqa: F401 (brings its own BLAS)

    from mlcli.base.values.compute import Compute
    from mlcli.native import absence, describe, lower_level

    eigensolver, threads, memory = self_test(), Compute().allowed_threads(), Compute().allowed_memory()
    added = [one.facts() for table in TABLES for found in installed(table).values() for one in found]
    return {
        "mlcli": mlcli.__version__, "python": platform.python_version(), "platform": system(),
        **({"plugins": added} if added else {}), "packages": packages(), "blas": libraries(),
        "blas_settings": blas.settings().facts(), "cores": resources.affinity(), "threads": threads.count,
        "threads_source": threads.source, "threads_found": {t.source: t.count for t in blas.environment_limits()},
        "memory": memory.bytes, "memory_source": memory.source,
        "memory_found": {m.source: m.bytes for m in (*resources.memory_limits(), *limits.memory(threads.count))},
        "native": describe(), "native_absence": absence() or None, "native_lower": lower_level() or None,
        "eigensolver": eigensolver,
    }


def self_test() -> dict[str, Any]:
    """An eigenproblem solved and checked: residual and orthogonality in units of size times rounding."""
    import numpy as np

    start = time.perf_counter()
    square = np.random.default_rng(0).standard_normal((SIZE, SIZE))
    matrix = square + square.T
    values, vectors = np.linalg.eigh(matrix)
    unit = SIZE * np.finfo(float).eps
    residual = np.linalg.norm(matrix @ vectors - vectors * values, 1) / (np.linalg.norm(matrix, 1) * unit)
    departure = np.linalg.norm(vectors.T @ vectors - np.eye(SIZE), 1) / unit
    return {"right": bool(residual <= WORST and departure <= WORST), "residual": round(float(residual), 3),
            "orthogonality": round(float(departure), 3), "seconds": round(time.perf_counter() - start, 4)}


def lines(document: dict[str, Any]) -> list[str]:
    """Format the document as lines of text."""
    settings, test = document["blas_settings"], document["eigensolver"]
    exported = [f"{name}={value}" for name, value in settings["exported"].items()]
    instead = f"; numpy and scipy compute: {document['native_absence']}" if document["native_absence"] else ""
    kernels = document["native_lower"] or f"{document['native']}{instead}"
    return [
        f"mlcli {document['mlcli']}, Python {document['python']}, {document['platform']}",
        *(f"{name} {number or 'missing'}" for name, number in document["packages"].items()),
        *(f"{library['library']} in {library['used_by']}: kernel {library['kernel']}, {library['threads']} threads"
          for library in document["blas"]),
        *(f"{NOUNS[one['table']]} {one['name']} of {one['package']} {one['version']}"
          for one in document.get("plugins", ())),
        f"variables set for them: {' '.join(exported) or 'none'}",
        f"OpenBLAS core type: {settings['core_type'] or 'left alone'} ({settings['reason']})",
        f"threads: {document['threads']} ({document['threads_source']}); found: "
        + with_sources(document["threads_found"]),
        f"memory: {units.memory(document['memory'])} ({limits.source_text(document['memory_source'])}); found: "
        + with_sources({source: units.memory(size) for source, size in document["memory_found"].items()}),
        f"native kernels: {kernels}",
        f"eigensolver: {'right' if test['right'] else 'WRONG'} (residual {test['residual']}, orthogonality "
        f"{test['orthogonality']}, {test['seconds'] * 1000:.0f} ms)",
        *([f"rates of this machine: written to {document['rates']['file']}"] if "rates" in document else []),
    ]


def with_sources(items: Mapping[str, object]) -> str:
    """Format values with their sources."""
    return ", ".join(f"{value} ({source})" for source, value in items.items())
