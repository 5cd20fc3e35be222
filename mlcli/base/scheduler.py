"""What batch schedulers grant a job, as their variables say: Slurm, SGE, PBS, Torque, LSF. Imports nothing heavy.

A variable that is absent or no number says nothing. Memory that SGE, PBS and LSF grant comes as limits
of the process (`limits.py`) or of the control group (`machine.py`), not as variables.
"""

import re
from collections.abc import Mapping

from mlcli.base.frozen import frozen

MOST = 1024  # threads that mlcli ever starts; a larger number is a mistake
NODE = ("SLURM_CPUS_ON_NODE", "SLURM_JOB_CPUS_PER_NODE")  # Slurm's counts of a node's cores, for all tasks on it
# cores of this process, or of the job on its node: SGE, PBS Pro, Torque, LSF
CORES = ("NSLOTS", "PBS_NCPUS", "NCPUS", "PBS_NUM_PPN", "LSB_DJOB_NUMPROC", "LSB_MAX_NUM_PROCESSORS")
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


def threads(environment: Mapping[str, str]) -> list[Threads]:
    """The numbers of threads that the job's variables name, each with its variable.

    Slurm counts a node's cores for all tasks on it: a task has its share of them.
    """
    tasks = max(per_node(environment, "SLURM_TASKS_PER_NODE"), default=1)
    shared = f" / SLURM_TASKS_PER_NODE={tasks}" if tasks > 1 else ""
    found = [("SLURM_CPUS_PER_TASK", number(environment.get("SLURM_CPUS_PER_TASK", "")))]
    found += [(name + shared, max(min(cores) // tasks, 1))
              for name in NODE if (cores := per_node(environment, name))]
    found += [(name, number(environment.get(name, ""))) for name in CORES]
    return [Threads(count, name) for name, count in found if count > 0]


def memory(environment: Mapping[str, str]) -> list[Memory]:
    """The bytes that Slurm grants on this node; 0 MiB is all of the node, and says nothing."""
    cores = min((cores for name in (*NODE, "SLURM_CPUS_PER_TASK") for cores in per_node(environment, name)), default=1)
    mebibytes = [("SLURM_MEM_PER_NODE", number(environment.get("SLURM_MEM_PER_NODE", ""))),
                 (f"SLURM_MEM_PER_CPU x {cores}", number(environment.get("SLURM_MEM_PER_CPU", "")) * cores)]
    return [Memory(size << 20, name) for name, size in mebibytes if size > 0]


def number(text: str) -> int:
    """A whole number in plain digits; 0 where the text is none, or too long to be one."""
    text = text.strip()
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else 0


def per_node(environment: Mapping[str, str], name: str) -> list[int]:
    """The nodes' numbers in Slurm's notation, equal ones once; none where the variable is absent or no such list."""
    parts = [PER_NODE.fullmatch(part.strip()) for part in environment.get(name, "").split(",")]
    return [count for part in parts if part and (count := number(part[1]))]
