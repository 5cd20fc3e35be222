"""What a run would do, and what it would take, without doing it."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from mlcli.base.threads import threads_limited
from mlcli.config.run_config import RunConfig
from mlcli.data.read import read
from mlcli.methods.memory import peak
from mlcli.rundir.kept import bytes_of, free_bytes


def plan(config: RunConfig, measure: float | None) -> dict[str, Any]:
    """Stages, choices and reasons, predicted seconds and bytes; `measure` runs a share of the most expensive work."""
    config.require_fitting()
    with threads_limited(config.compute.thread_count()):
        source = read(config.input, config.compute)
        data = config.prepare.apply(source).table.data()
        method = config.method.settle(data)
        normalized: Any = data.normalized(method.reach)  # of a kind that the method takes
        steps = method.steps(normalized, config.compute, measure)
    rows, columns = data.values.shape
    memory, limit = peak(steps, data, method, config.compute), config.compute.allowed_memory()
    disk = bytes_of(config.report.kept(), len(data.values))
    free = free_bytes(Path(config.output or "")) if disk else None
    measured = [step.seconds if step.measured is None else step.measured for step in steps]
    rows = 0 if data.kind == "covariance" else rows  # its points are not at hand
    return {"method": config.method.name, "kind": data.kind, "rows": rows, "columns": columns,
            "steps": [asdict(step) for step in steps], "seconds": sum(step.seconds for step in steps),
            "seconds_measured": None if measure is None else sum(measured),
            "memory": memory, "memory_limit": limit.bytes, "memory_source": limit.source,
            "disk": disk, "disk_free": free, "fits": memory <= limit.bytes and (free is None or disk <= free),
            "threads": config.compute.thread_count()}
