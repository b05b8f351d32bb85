"""Spreads independent work, such as that of several seeds, over processes."""

from __future__ import annotations

import os
from collections.abc import Callable, MutableMapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from functools import partial
from multiprocessing import get_context
from typing import Any, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
#: Called with the name of a piece of work and the share of it that is done.
OnPiece = Callable[[str, float], None]
#: Seconds between two looks at how far the workers are.
PAUSE = 1.0


def check_jobs(jobs: int) -> None:
    """Raise an error unless this is a number of processes.

    >>> check_jobs(0)
    Traceback (most recent call last):
        ...
    ValueError: jobs=0; use at least 1
    """
    if jobs < 1:
        raise ValueError(f"jobs={jobs}; use at least 1")


def in_processes(
    work: Callable[[Item, OnPiece], Result],
    items: Sequence[Item],
    jobs: int,
    *,
    on_share: Callable[[float], None] = lambda share: None,
    on_piece: OnPiece = lambda name, share: None,
) -> list[Result]:
    """The results of all items, in their order, from up to ``jobs`` processes. Work and items must be picklable.

    Each process gets its share of the cores. ``on_share`` receives the share of the items that is done; ``on_piece`` what the work
    itself reports.
    """
    if not items:
        return []
    processes, spawn = min(jobs, len(items)), get_context("spawn")  # a forked process may hang in PyTorch's threads
    threads = max(1, (os.cpu_count() or 1) // processes)
    with (
        spawn.Manager() as manager,
        ProcessPoolExecutor(processes, spawn, initializer=_use_threads, initargs=(threads,)) as pool,
    ):
        pieces: MutableMapping[str, float] = manager.dict()
        futures: list[Future[Result]] = [pool.submit(work, item, partial(_report, pieces)) for item in items]
        pending = set(futures)
        try:
            while pending:
                finished, pending = wait(pending, PAUSE, FIRST_COMPLETED)
                for name, share in dict(pieces).items():
                    on_piece(name, share)
                for future in finished:
                    future.result()  # raises here what was raised there
                on_share(1.0 - len(pending) / len(items))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        return [future.result() for future in futures]


def _use_threads(threads: int) -> None:
    """Set the number of threads of a process, before PyTorch is loaded."""
    os.environ["OMP_NUM_THREADS"] = str(threads)


def _report(pieces: MutableMapping[str, Any], name: str, share: float) -> None:
    pieces[name] = share
