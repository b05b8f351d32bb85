"""The memory that is left, and the warning before a ledger outgrows it."""

import warnings

import pytest

import whatfor as wf
from whatfor import memory
from whatfor.ledger import store

GIB = 1 << 30


def system(monkeypatch, tmp_path, memberships, files):
    """A system that says so: which groups this process is in, and the files of these groups."""
    (tmp_path / "memberships").write_text(memberships)
    for path, text in files.items():
        file = tmp_path / "groups" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{text}\n")
    monkeypatch.setattr(memory, "MEMBERSHIPS", str(tmp_path / "memberships"))
    monkeypatch.setattr(memory, "GROUPS", str(tmp_path / "groups"))


@pytest.mark.parametrize(
    ("memberships", "files", "left"),
    [
        ("0::/\n", {"memory.max": 5000, "memory.current": 3000}, 2000),  # in a container
        (
            "0::/slurm/job_7/task\n",  # a batch system limits a group above
            {
                "slurm/job_7/task/memory.max": "max",
                "slurm/job_7/task/memory.current": 100,
                "slurm/job_7/memory.max": 4000,
                "slurm/job_7/memory.current": 1000,
                "memory.max": 9000,
                "memory.current": 3000,
            },
            3000,
        ),
        (  # cached files are given up where memory is short
            "0::/\n",
            {"memory.max": 5000, "memory.current": 4900, "memory.stat": "anon 900\ninactive_file 4000\nactive_file 0"},
            4100,
        ),
        (
            "9:name=systemd:/\n4:cpu,memory:/jobs/7\n0::/\n",
            {
                "memory/jobs/7/memory.limit_in_bytes": 700,
                "memory/jobs/7/memory.usage_in_bytes": 600,
                "memory/jobs/7/memory.stat": "cache 50\ninactive_file 1\ntotal_inactive_file 40",
                "memory/memory.limit_in_bytes": 9223372036854771712,
                "memory/memory.usage_in_bytes": 900,
            },
            140,
        ),
    ],
)
def test_the_memory_that_is_left_is_that_of_the_groups_if_they_allow_less(
    monkeypatch, tmp_path, memberships, files, left
):
    system(monkeypatch, tmp_path, memberships, files)
    assert memory.available_bytes() == left


@pytest.mark.parametrize("memberships", ["", "nonsense\n", "0::/\n"])
def test_without_groups_it_is_that_of_the_machine(monkeypatch, tmp_path, memberships):
    system(monkeypatch, tmp_path, memberships, {})
    left = memory.available_bytes()
    assert left is None or left > 1 << 20


def test_a_large_ledger_is_warned_about_before_the_group_is_full(monkeypatch, tmp_path):
    """Training writes 288 MiB of updates, in a group that has 250 MiB left."""
    files = {"job/memory.max": GIB, "job/memory.current": GIB - 250 * (1 << 20)}
    system(monkeypatch, tmp_path, "0::/job\n", files)
    line = wf.worlds.table([[0, 0]], [[0.0, 0.0]], [[False, False]], max_steps=1 << 20)
    with pytest.warns(
        UserWarning, match=r"the ledger takes 0\.2\d* GiB, and 0\.2441 GiB of memory are left: press Ctrl-C"
    ):
        run = wf.train(line, wf.QLearning(discount=0.9), episodes=18, seed=0, progress=False)
    assert run.ledger.nbytes > 250 * (1 << 20)


def test_the_ledger_of_a_custom_loop_is_warned_about_once(monkeypatch):
    monkeypatch.setattr(memory, "MIN_BYTES", 1)
    monkeypatch.setattr(memory, "available_bytes", lambda: 100)
    monkeypatch.setattr(store, "CHECKED_LINES", 10)
    ledger = wf.Ledger(n_states=1, n_actions=1)

    def record(updates):
        for _ in range(updates):
            ledger.record(0, 0, 1.0, 0, 0, step_size=0.1, discount=0.9)

    with pytest.warns(UserWarning, match="the ledger takes .* left: end the loop, and save the run so far") as warned:
        record(50)
    assert len(warned) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        record(50)


def test_what_is_small_is_not_looked_at(monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: pytest.fail("a system call for every step"))
    memory.MemoryWatch().check("the ledger", memory.MIN_BYTES - 1, "remedy")


def test_it_looks_again_after_some_growth(monkeypatch):
    looked = []
    monkeypatch.setattr(memory, "available_bytes", lambda: looked.append(1) or 100 * GIB)
    watch = memory.MemoryWatch()
    for size in range(0, 4 * memory.MIN_BYTES, 1 << 20):
        watch.check("the ledger", size, "remedy")
    assert 10 <= len(looked) <= 13
