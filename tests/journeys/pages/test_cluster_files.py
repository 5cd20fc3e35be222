"""The files in configs/cluster: valid for the programs that read them, and their very commands run here.

What reads them need not be installed: docker-compose, the packages of the dependency group `clusters`, Slurm. Without
one its test is skipped.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import yaml

pytest.importorskip("distributed", reason="needs mlcli[dask]")

from mlcli.base.frozen import frozen
from mlcli.cli.group import COMMANDS
from mlcli.config.run_config import option_rows
from tests.engine import slurm
from tests.engine.loopback import free_port
from tests.processes import call, neutral

CLUSTER = Path(__file__).parents[3] / "configs" / "cluster"
TOOLS = (("docker", "compose"), ("docker-compose",))
CRD = "operator/deployment/helm/dask-kubernetes-operator/crds/daskjob.yaml"
OPEN = "x-kubernetes-preserve-unknown-fields"
RESULTS = ("embedding.csv", "spectrum.csv", "certificate.json")
PORT = "8786"


def documents(name: str) -> list[Any]:
    return list(yaml.safe_load_all((CLUSTER / name).read_text(encoding="utf-8")))


@frozen
class Commands:
    """What a file has run, each as in a shell, with the variables of the client."""

    scheduler: Sequence[str]
    worker: Sequence[str]
    workers: int
    client: Sequence[str]  # after the name of the program
    variables: Mapping[str, str]


def of_compose() -> Commands:
    text, services = (CLUSTER / "compose.yaml").read_text(), documents("compose.yaml")[0]["services"]
    scheduler, worker = ([*services[name]["entrypoint"], *services[name]["command"]]
                         for name in ("scheduler", "worker"))
    shown = next(line for line in text.splitlines() if "run --rm client" in line)
    return Commands(scheduler, worker, services["worker"]["deploy"]["replicas"], shown.partition(" client ")[2].split(),
                    services["client"]["environment"])


def of_kubernetes() -> Commands:
    """As the operator starts it: it gives containers these variables."""
    spec = documents("kubernetes.yaml")[0]["spec"]
    cluster, (job,) = spec["cluster"]["spec"], spec["job"]["spec"]["containers"]
    (scheduler,), (worker,) = (cluster[part]["spec"]["containers"] for part in ("scheduler", "worker"))
    own = {"DASK_SCHEDULER_ADDRESS": f"tcp://scheduler:{PORT}", "DASK_WORKER_NAME": "worker"}

    def expanded(words: Sequence[str]) -> list[str]:
        return [word.replace("$(DASK_SCHEDULER_ADDRESS)", own["DASK_SCHEDULER_ADDRESS"]).replace(
            "$(DASK_WORKER_NAME)", f"worker-{id(words)}") for word in words]

    return Commands([*scheduler["command"], *scheduler["args"]], [*worker["command"], *expanded(worker["args"])], 2,
                    expanded(job["args"]), own)


BOTH = pytest.mark.parametrize("commands", [of_compose(), of_kubernetes()], ids=["compose", "kubernetes"])


@BOTH
def test_dask_and_the_program_know_every_option(commands: Commands) -> None:
    from distributed.cli import dask_scheduler, dask_worker

    known = {row.path for row in option_rows()}
    for (name, kind, *words), command in ((commands.scheduler, dask_scheduler), (commands.worker, dask_worker)):
        read = command.main.make_context(kind, words)
        assert name == "dask" and command.__name__.endswith(kind) and not read.params["preload_argv"]
    assert commands.client[0] in COMMANDS
    assert {word.partition("=")[0] for word in commands.client if "=" in word} <= known
    assert {".".join(name.lower().split("__")[1:]) for name in commands.variables if name.startswith("MLCLI")} <= known


@pytest.mark.slow
@pytest.mark.parametrize("tool", TOOLS, ids=" ".join)
def test_compose_reads_the_file(tool: Sequence[str], tmp_path: Path) -> None:
    if not shutil.which(tool[0]) or subprocess.run([*tool, "version"], capture_output=True, check=False).returncode:
        pytest.skip(f"there is no {' '.join(tool)}")
    command = [*tool, "-f", CLUSTER / "compose.yaml"]
    read = subprocess.run([*command, "config"], env={**os.environ, "DATA": str(tmp_path), "OWNER": "7:8"}, text=True,
                          capture_output=True, check=False)
    assert read.returncode == 0 and "variable is not set" not in read.stderr, read.stderr
    services = yaml.safe_load(read.stdout)["services"]
    assert {service["user"] for service in services.values()} == {"7:8"}
    assert all(service["read_only"] and set(service["networks"]) == {"cluster"} for service in services.values())
    assert not any("ports" in service for service in services.values())
    wrong = (CLUSTER / "compose.yaml").read_text().replace("read_only:", "readonly:")
    refused = subprocess.run([*tool, "-f", "-", "config"], input=wrong, text=True, capture_output=True, check=False)
    assert refused.returncode and "readonly" in refused.stderr


def closed(schema: Any) -> Any:
    """The schema of a resource where no field may stand that it does not describe, as the server warns of them."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    more = "properties" in schema and "additionalProperties" not in schema and not schema.get(OPEN)
    return {name: closed(part) for name, part in schema.items()} | ({"additionalProperties": False} if more else {})


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_kubernetes_and_the_operator_take_the_file() -> None:
    """The job by the operator's definition of it; the policy, and what the operator makes of the job, by Kubernetes."""
    jsonschema, kubernetes = map(pytest.importorskip, ("jsonschema", "kubernetes_validate"))
    controller = pytest.importorskip("dask_kubernetes.operator.controller.controller")
    job, policy = documents("kubernetes.yaml")
    definition = yaml.safe_load((files("dask_kubernetes") / CRD).read_text())
    version, = (one for one in definition["spec"]["versions"] if job["apiVersion"].endswith(f"/{one['name']}"))
    schema = version["schema"]["openAPIV3Schema"]
    schema["properties"] |= {name: {} for name in ("apiVersion", "kind", "metadata")}
    assert job["kind"] == definition["spec"]["names"]["kind"]
    jsonschema.validate(job, closed(schema))
    wrong = {**job, "spec": {**job["spec"], "clusters": {}}}
    with pytest.raises(jsonschema.ValidationError, match="clusters"):
        jsonschema.validate(wrong, closed(schema))
    name, spec = job["metadata"]["name"], job["spec"]
    cluster, more = spec["cluster"]["spec"], {"annotations": {}, "labels": {}}
    made = [controller.build_scheduler_deployment_spec(name, cluster["scheduler"]["spec"], **more),
            controller.build_scheduler_service_spec(name, cluster["scheduler"]["service"], **more),
            controller.build_worker_deployment_spec(f"{name}-default", "here", name, "0", cluster["worker"]["spec"],
                                                    **more),
            controller.build_job_pod_spec(name, name, "here", spec["job"]["spec"], **more)]
    for resource in (policy, *made):
        kubernetes.validate(resource, kubernetes.latest_version(), strict=True)
    selected = policy["spec"]["podSelector"]["matchLabels"].items()
    templates = [one["spec"].get("template", one) for one in made if one["kind"] != "Service"]
    assert len(templates) == 3 and all(selected <= one["metadata"]["labels"].items() for one in templates)
    labels = templates[0]["metadata"]["labels"].items()
    assert made[1]["spec"]["selector"].items() <= labels  # the service finds the scheduler
    given = [{one["name"] for one in part["spec"]["containers"][0].get("env", ())} for part in templates]
    assert given[1] >= set(of_kubernetes().variables) and "DASK_SCHEDULER_ADDRESS" in given[2]


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with data.npy, and its run on one machine."""
    folder = tmp_path_factory.mktemp("here")
    assert call("sample", "swiss-roll", "--rows", 2500, "-o", folder / "data.npy").returncode == 0
    done = call("embed", "--method", "isomap", folder / "data.npy", "-o", folder / "run", "-q")
    assert done.returncode == 0, done.stderr
    return folder


def same(here: Path, there: Path) -> bool:
    assert json.loads((there / "run.json").read_text())["cluster"]["blocks"] > 0
    return all((here / "run" / name).read_bytes() == (there / name).read_bytes() for name in RESULTS)


@contextmanager
def processes(commands: Sequence[Sequence[str]], **settings: Any) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Commands that run for the length of a `with` block."""
    begun = [subprocess.Popen(command, stderr=subprocess.DEVNULL, **settings) for command in commands]
    try:
        yield begun
    finally:
        for process in begun:
            process.kill()
            process.wait()


@pytest.mark.slow
@pytest.mark.timeout(900)
@BOTH
def test_its_commands_run(commands: Commands, here: Path, tmp_path: Path) -> None:
    """But for the addresses and folders of containers; the scheduler binds loopback only."""
    port, folders = str(free_port()), {f"/{name}": tmp_path / name for name in ("tmp", "shared", "scratch")}
    for folder in folders.values():
        folder.mkdir()

    def placed(text: str) -> str:
        for name, folder in folders.items():
            text = text if not text.endswith(name) else text.replace(name, str(folder))
        return text.replace(f"scheduler:{PORT}", f"127.0.0.1:{port}").replace(PORT, port)

    environment = neutral(**{name: placed(text) for name, text in commands.variables.items()},
                          PATH=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    scheduler, worker, client = ([*map(placed, words)] for words in (
        [*commands.scheduler, "--host", "127.0.0.1"], commands.worker, ["mlcli", *commands.client]))
    shutil.copy(here / "data.npy", tmp_path)
    named = [[word.replace("worker-", f"worker-{number}-") for word in worker] for number in range(commands.workers)]
    run = partial(subprocess.run, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    with processes([scheduler, *named], env=environment, cwd=tmp_path):
        done = run([*client, "-q"])
        assert done.returncode == 0, done.stderr
    assert same(here, tmp_path / "runs" / "data-isomap")
    assert not [*(tmp_path / "shared").iterdir(), *(tmp_path / "scratch").iterdir()]


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("real", [pytest.param(False, id="srun that starts one worker here"), pytest.param(
    True, marks=pytest.mark.skipif(slurm.lacking(), reason="needs root and slurm-wlm"), id="Slurm of one node")])
def test_the_slurm_script_runs(real: bool, here: Path, tmp_path: Path) -> None:
    (work := tmp_path / "work").mkdir()
    (tools := tmp_path / "bin").mkdir()
    (tools / "srun").write_text('#!/bin/sh\nexec "$@"\n')
    (tools / "srun").chmod(0o755)
    own = {} if real else {"SLURM_CPUS_PER_TASK": "1"}
    path = [*([] if real else [str(tools)]), str(Path(sys.executable).parent), os.environ["PATH"]]
    smaller = ("--nodes=1", "--ntasks-per-node=2", "--cpus-per-task=1", "--mem=0")
    submit = ["sbatch", "--wait", *smaller] if real else ["bash"]
    with slurm.running(tmp_path, processors=2) if real else nullcontext({}) as variables:
        run = partial(subprocess.run, cwd=work, env=neutral(PATH=":".join(path), **own, **variables), text=True,
                      capture_output=True, check=False)
        done = run([*submit, CLUSTER / "slurm.sh", here / "data.npy", "there"])
        said = done.stderr + "".join(path.read_text() for path in work.glob("slurm-*.out"))
        assert done.returncode == 0, said
        assert "Traceback" not in said and "warning" not in said
        failed = run([*submit, CLUSTER / "slurm.sh", "absent.npy", "failed"])
    assert failed.returncode == 66
    assert same(here, work / "there") and [path.name for path in work.iterdir() if path.is_dir()] == ["there"]
    assert "tls://" in (failed.stderr + "".join(path.read_text() for path in work.glob("slurm-2*.out")))
