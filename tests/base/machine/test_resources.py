"""Threads and memory are found where the job, the affinity and the control groups say."""

from pathlib import Path

import pytest

from mlcli.base.machine import resources
from mlcli.base.machine.scheduler import Threads
from mlcli.base.values.compute import Compute
from mlcli.errors import ConfigError


def tree(root: Path, files: dict[str, str]) -> Path:
    """A machine's files under a folder of the test."""
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


@pytest.fixture(autouse=True)
def eight_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resources, "affinity", lambda: 8)


@pytest.mark.parametrize(("files", "quota"), [
    ({}, 0),
    ({"sys/fs/cgroup/cpu.max": "200000 100000\n"}, 2),  # no /proc at all
    ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "250000 100000\n"}, 3),  # part of a core is a core
    ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "max 100000\n"}, 0),
    ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": ""}, 0),  # the kernel may show it empty
    ({"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/cpu.max": "max 100000\n",
      "sys/fs/cgroup/a/cpu.max": "400000 100000\n"}, 4),  # the group around ours limits us
    ({"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/cpu.max": "100000 100000\n",
      "sys/fs/cgroup/a/cpu.max": "400000 100000\n"}, 1),
    ({"proc/self/cgroup": "0::/docker/x\n", "sys/fs/cgroup/cpu.max": "50000 100000\n"}, 1),  # ours is the mount's root
    ({"proc/self/cgroup": "0::/../other\n", "sys/fs/cgroup/cpu.max": "300000 100000\n"}, 3),
    ({"proc/self/cgroup": "5:memory:/\n4:cpu,cpuacct:/job\n",
      "sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us": "600000\n",
      "sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us": "100000\n"}, 6),
    ({"proc/self/cgroup": "4:cpu,cpuacct:/job\n", "sys/fs/cgroup/cpu/job/cpu.cfs_quota_us": "-1\n",
      "sys/fs/cgroup/cpu/job/cpu.cfs_period_us": "100000\n"}, 0),
    ({"proc/self/cgroup": "1:name=systemd:/\n0::/\n", "sys/fs/cgroup/unified/cpu.max": "700000 100000\n"}, 7),
])
def test_quota_of_the_control_groups(tmp_path: Path, files: dict[str, str], quota: int) -> None:
    root = tree(tmp_path, files)
    assert resources.cpu_quota(root) == quota
    expected = Threads(quota, "cgroup quota") if quota else Threads(8, "affinity")
    assert resources.threads({}, root) == expected


def test_a_quota_beyond_the_affinity_changes_nothing(tmp_path: Path) -> None:
    root = tree(tmp_path, {"sys/fs/cgroup/cpu.max": "6400000 100000"})
    assert resources.threads({}, root) == Threads(8, "affinity")


@pytest.mark.parametrize(("environment", "count", "source"), [
    ({"MLCLI_THREADS": "9", "SLURM_CPUS_PER_TASK": "5", "OMP_NUM_THREADS": "7"}, 9, "MLCLI_THREADS"),
    ({"SLURM_CPUS_PER_TASK": "5", "OMP_NUM_THREADS": "7"}, 5, "SLURM_CPUS_PER_TASK"),
    ({"SLURM_CPUS_PER_TASK": "5", "OMP_NUM_THREADS": "3"}, 3, "OMP_NUM_THREADS"),
    ({"OMP_NUM_THREADS": "4,2"}, 4, "OMP_NUM_THREADS"),
    ({"OMP_NUM_THREADS": "70"}, 6, "cgroup quota"),
    ({"MLCLI_THREADS": "", "SLURM_CPUS_PER_TASK": "none", "OMP_NUM_THREADS": "0"}, 6, "cgroup quota"),
])
def test_the_users_choice_holds_and_else_the_smallest_limit(tmp_path: Path, environment: dict[str, str], count: int,
                                                            source: str) -> None:
    root = tree(tmp_path, {"sys/fs/cgroup/cpu.max": "600000 100000"})
    assert resources.threads(environment, root) == Threads(count, source)


@pytest.mark.parametrize("text", ["many", "0", "-2", "1.5", "1025", "9" * 20, "9" * 5000, "٣"])
def test_a_wrong_mlcli_threads_is_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("MLCLI_THREADS", text)
    with pytest.raises(ConfigError) as caught:
        Compute().thread_count()
    assert (caught.value.code, caught.value.where) == ("E-THREADS", "MLCLI_THREADS")
    assert Compute(threads=2).thread_count() == 2


def test_chosen_threads_go_before_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLCLI_THREADS", "3")
    assert Compute(threads=2).allowed_threads() == Threads(2, "compute.threads")
    assert Compute().allowed_threads() == Threads(3, "MLCLI_THREADS")


@pytest.mark.parametrize(("files", "environment", "limit"), [
    ({}, {}, 0),
    ({"sys/fs/cgroup/memory.max": "1000"}, {}, 1000),
    ({"proc/self/cgroup": "0::/a/b", "sys/fs/cgroup/a/b/memory.max": "max",
      "sys/fs/cgroup/a/memory.max": "5000"}, {}, 5000),
    ({"proc/self/cgroup": "0::/a/b", "sys/fs/cgroup/a/b/memory.max": "4000",
      "sys/fs/cgroup/a/memory.max": "5000"}, {}, 4000),
    ({"proc/self/cgroup": "4:memory:/job\n", "sys/fs/cgroup/memory/job/memory.limit_in_bytes": "7000",
      "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712"}, {}, 7000),
    ({"proc/self/cgroup": "4:cpu:/job\n", "sys/fs/cgroup/memory/job/memory.limit_in_bytes": "7000"}, {}, 0),
    ({"sys/fs/cgroup/memory.max": str(2**40)}, {"SLURM_MEM_PER_NODE": "2048"}, 2**31),
    ({"sys/fs/cgroup/memory.max": str(2**20)}, {"SLURM_MEM_PER_NODE": "2048"}, 2**20),
    ({}, {"SLURM_MEM_PER_NODE": "0"}, 0),  # all of the node
])
def test_memory_of_the_container_and_the_job(tmp_path: Path, files: dict[str, str], environment: dict[str, str],
                                             limit: int) -> None:
    *limits, whole = resources.memory_limits(environment, tree(tmp_path, files))
    assert min((found.bytes for found in limits), default=0) == limit
    assert whole.bytes == resources.machine_memory()


def test_the_job_limits_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_MEM_PER_NODE", "64")
    assert Compute().memory_bytes() <= 64 * 2**20
    assert Compute(memory_limit="1G").memory_bytes() == 2**30


def test_the_first_core_tells_the_processor(tmp_path: Path) -> None:
    root = tree(tmp_path, {
        "proc/cpuinfo": "processor\t: 0\nvendor_id\t: A\nflags\t\t: x y\n\nprocessor\t: 1\nvendor_id\t: B\n"})
    assert resources.processor(root) == ("A", frozenset({"x", "y"}))
    assert resources.processor(tmp_path / "nowhere") == ("", frozenset())


@pytest.mark.parametrize(("platform", "peak"), [("linux", 300 * 2**10), ("darwin", 300 * 2**20)])
def test_a_peak_of_memory_is_the_same_in_the_unit_of_each_system(
        monkeypatch: pytest.MonkeyPatch, platform: str, peak: int) -> None:
    monkeypatch.setattr("sys.platform", platform)
    assert resources.mebibytes(peak) == 300
