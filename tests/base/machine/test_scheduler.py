"""What batch schedulers grant is read from their variables, in their notation."""

import pytest

from mlcli.base.machine.scheduler import Memory, Threads, memory, threads


@pytest.mark.parametrize(("environment", "counts"), [
    ({}, {}),
    ({"SLURM_CPUS_PER_TASK": "4", "SLURM_CPUS_ON_NODE": "8"}, {"SLURM_CPUS_PER_TASK": 4, "SLURM_CPUS_ON_NODE": 8}),
    ({"SLURM_JOB_CPUS_PER_NODE": "16(x2),8"}, {"SLURM_JOB_CPUS_PER_NODE": 8}),
    ({"SLURM_JOB_CPUS_PER_NODE": "72(x2)"}, {"SLURM_JOB_CPUS_PER_NODE": 72}),
    ({"SLURM_CPUS_ON_NODE": "8", "SLURM_TASKS_PER_NODE": "1", "SLURM_NTASKS": "9"}, {"SLURM_CPUS_ON_NODE": 8}),
    ({"SLURM_CPUS_ON_NODE": "9", "SLURM_TASKS_PER_NODE": "4(x2),2", "SLURM_NTASKS": "9"},
     {"SLURM_CPUS_ON_NODE / SLURM_TASKS_PER_NODE=4": 2}),
    ({"SLURM_CPUS_ON_NODE": "2", "SLURM_TASKS_PER_NODE": "4", "SLURM_NTASKS": "9"},
     {"SLURM_CPUS_ON_NODE / SLURM_TASKS_PER_NODE=4": 1}),
    ({"SLURM_TASKS_PER_NODE": "4", "SLURM_NTASKS": "9"}, {}),
    # a whole node without a number of tasks: Slurm counts a task for each core
    ({"SLURM_CPUS_ON_NODE": "8", "SLURM_TASKS_PER_NODE": "8"}, {"SLURM_CPUS_ON_NODE": 8}),
    ({"SLURM_CPUS_ON_NODE": "8", "SLURM_TASKS_PER_NODE": "4", "SLURM_NTASKS_PER_NODE": "4"},
     {"SLURM_CPUS_ON_NODE / SLURM_TASKS_PER_NODE=4": 2}),
    ({"NSLOTS": "3"}, {"NSLOTS": 3}),
    ({"PBS_NCPUS": "6", "NCPUS": "5", "PBS_NUM_PPN": "4"}, {"PBS_NCPUS": 6, "NCPUS": 5, "PBS_NUM_PPN": 4}),
    ({"PBS_NP": "4"}, {"PBS_NP": 4}),
    ({"LSB_DJOB_NUMPROC": "7", "LSB_MAX_NUM_PROCESSORS": "8"}, {"LSB_DJOB_NUMPROC": 7, "LSB_MAX_NUM_PROCESSORS": 8}),
    ({"SLURM_CPUS_ON_NODE": "many", "SLURM_JOB_CPUS_PER_NODE": "8(x", "NSLOTS": "", "NCPUS": "-1",
      "PBS_NUM_PPN": "9" * 5000}, {}),
])
def test_threads_of_a_job(environment: dict[str, str], counts: dict[str, int]) -> None:
    assert threads(environment) == [Threads(count, source) for source, count in counts.items()]


@pytest.mark.parametrize(("environment", "found"), [
    ({}, []),
    ({"SLURM_MEM_PER_NODE": "2048"}, [Memory(2**31, "SLURM_MEM_PER_NODE")]),
    ({"SLURM_MEM_PER_NODE": "0"}, []),  # all of the node
    ({"SLURM_MEM_PER_CPU": "1024", "SLURM_CPUS_ON_NODE": "4"}, [Memory(2**32, "SLURM_MEM_PER_CPU x 4")]),
    ({"SLURM_MEM_PER_CPU": "1024", "SLURM_JOB_CPUS_PER_NODE": "4(x2),2"}, [Memory(2**31, "SLURM_MEM_PER_CPU x 2")]),
    ({"SLURM_MEM_PER_CPU": "1024", "SLURM_CPUS_PER_TASK": "2"}, [Memory(2**31, "SLURM_MEM_PER_CPU x 2")]),
    ({"SLURM_MEM_PER_CPU": "1024"}, [Memory(2**30, "SLURM_MEM_PER_CPU x 1")]),
    ({"SLURM_MEM_PER_CPU": "1024.5"}, []),
    ({"SLURM_CPUS_ON_NODE": "2", "SLURM_TASKS_PER_NODE": "2", "SLURM_NTASKS": "9", "SLURM_MEM_PER_CPU": "1024"},
     [Memory(2**30, "SLURM_MEM_PER_CPU x 1")]),
    ({"SLURM_TASKS_PER_NODE": "4", "SLURM_NTASKS": "9", "SLURM_MEM_PER_NODE": "4096"},
     [Memory(2**30, "SLURM_MEM_PER_NODE / SLURM_TASKS_PER_NODE=4")]),
    ({"SLURM_CPUS_PER_TASK": "2", "SLURM_CPUS_ON_NODE": "8", "SLURM_TASKS_PER_NODE": "4", "SLURM_NTASKS": "9",
      "SLURM_MEM_PER_CPU": "512"},
     [Memory(2**30, "SLURM_MEM_PER_CPU x 2")]),
    ({"SLURM_GPUS_ON_NODE": "4", "SLURM_TASKS_PER_NODE": "2", "SLURM_NTASKS": "9", "SLURM_MEM_PER_GPU": "1024"},
     [Memory(2**31, "SLURM_MEM_PER_GPU x 4 / SLURM_TASKS_PER_NODE=2")]),
    ({"SLURM_MEM_PER_GPU": "1024"}, [Memory(2**30, "SLURM_MEM_PER_GPU x 1")]),
])
def test_memory_of_a_job(environment: dict[str, str], found: list[Memory]) -> None:
    assert memory(environment) == found
