"""Threads and memory that batch schedulers grant a job, by their variables: Slurm, SGE, PBS, Torque, LSF.

Imports nothing heavy.

A variable that is absent or not a number is ignored. Memory that SGE, PBS and LSF grant comes as limits
of the process (`limits.py`) or of the control group (`machine.py`), not as variables.
"""

import re
from collections.abc import Mapping

from mlcli.base.frozen import frozen
from mlcli.errors import option

MOST = 1024  # threads that mlcli ever starts; a larger number is a mistake
NODE = ("SLURM_CPUS_ON_NODE", "SLURM_JOB_CPUS_PER_NODE")  # Slurm's counts of a node's cores, for all tasks on it
# cores of this process, or of the job on its node: SGE, PBS Pro, Torque, LSF
CORES = ("NSLOTS", "PBS_NCPUS", "NCPUS", "PBS_NUM_PPN", "PBS_NP", "LSB_DJOB_NUMPROC", "LSB_MAX_NUM_PROCESSORS")
MORE = {"SLURM": "ask for more memory in the job", "machine memory": "use a machine with more memory",
        "control group": "ask for more memory for the job or container"}  # by the first words of a source
PER_NODE = re.compile(r"(\d+)(?:\(x\d+\))?")  # 16(x2),8: two nodes with 16, then one with 8


@frozen
class Threads:
    """A number of threads, and what it comes from."""

    count: int
    source: str


@frozen
class Memory:
    """An amount of memory in bytes, and what it comes from."""

    bytes: int
    source: str

    @property
    def remedy(self) -> str:
        """The way to get more memory, for hints."""
        source = option(self.source) if self.source.startswith("compute.") else self.source
        return next((remedy for kind, remedy in MORE.items() if self.source.startswith(kind)), f"raise {source}")


def threads(environment: Mapping[str, str]) -> list[Threads]:
    """The numbers of threads that the job's variables name, each with its variable.

    Slurm counts a node's cores for all tasks on it: a task has its share of them.
    """
    limits = [*slurm_task(environment)[0], *(Threads(number(environment.get(name, "")), name) for name in CORES)]
    return [limit for limit in limits if limit.count > 0]


def memory(environment: Mapping[str, str]) -> list[Memory]:
    """The bytes that Slurm grants a task on this node; 0 MiB is all of the node, and says nothing."""
    counts, tasks, shared = slurm_task(environment)
    cores = min((limit.count for limit in counts), default=1)
    gpus = max(number(environment.get("SLURM_GPUS_ON_NODE", "")), 1)
    node, core, gpu = (number(environment.get(f"SLURM_MEM_PER_{unit}", "")) << 20 for unit in ("NODE", "CPU", "GPU"))
    limits = [Memory(node // tasks, f"SLURM_MEM_PER_NODE{shared}"),
              Memory(core * cores, f"SLURM_MEM_PER_CPU x {cores}"),
              Memory(gpu * gpus // tasks, f"SLURM_MEM_PER_GPU x {gpus}{shared}")]
    return [limit for limit in limits if limit.bytes > 0]


def slurm_task(environment: Mapping[str, str]) -> tuple[list[Threads], int, str]:
    """Return Slurm's counts of the cores of a task, the tasks that share a node, and how a source names that.

    Where no number of tasks was asked for, Slurm counts a task for every core of a node that one process has whole.
    """
    several = any(number(environment.get(name, ""))
                  for name in ("SLURM_NTASKS", "SLURM_NPROCS", "SLURM_NTASKS_PER_NODE"))
    tasks = max(per_node(environment, "SLURM_TASKS_PER_NODE"), default=1) if several else 1
    shared = f" / SLURM_TASKS_PER_NODE={tasks}" if tasks > 1 else ""
    own = Threads(number(environment.get("SLURM_CPUS_PER_TASK", "")), "SLURM_CPUS_PER_TASK")
    counts = [*([own] if own.count else []), *(Threads(max(min(cores) // tasks, 1), name + shared)
                                               for name in NODE if (cores := per_node(environment, name)))]
    return counts, tasks, shared


def number(text: str) -> int:
    """A whole number in plain digits; 0 where the text is none, or too long to be one."""
    text = text.strip()
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else 0


def per_node(environment: Mapping[str, str], name: str) -> list[int]:
    """The nodes' numbers in Slurm's notation, equal ones once; empty where the variable is absent or malformed."""
    parts = [PER_NODE.fullmatch(part.strip()) for part in environment.get(name, "").split(",")]
    return [count for part in parts if part and (count := number(part[1]))]
