"""The forked process that computes answers."""

from __future__ import annotations

import json
import os
import queue
import signal
import socket
import stat
import struct
import sys
import threading
import traceback
from contextlib import suppress
from typing import NoReturn

from whatfor.explorer.desk import Desk

#: Before each reply: its kind, and its size in bytes.
HEADER = ">BQ"
ANSWERED, REFUSED, FAILED = range(3)
#: Seconds that a process whose parent is gone may be over the limit.
GRACE = 5
MAX_ALARM = 2**31 - 1


def answer_requests(desk: Desk, channel: socket.socket, seconds: int) -> NoReturn:
    """Answer requests until there are no more; then the process ends, without its parent's clean-up."""
    try:
        for number in (signal.SIGINT, signal.SIGTERM):  # its parent ends it
            signal.signal(number, lambda *_: None)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        release_server_sockets()
        if (torch := sys.modules.get("torch")) is not None:
            torch.set_num_threads(1)  # its threads were not forked
        requests: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        threading.Thread(target=_receive, args=(channel, requests), daemon=True).start()
        while True:
            request = requests.get()
            # The parent kills this process when time is up. Should the parent be gone, the system does: compiled code
            # may hold the interpreter, so that the thread that receives does not find out.
            signal.alarm(min(seconds + GRACE, MAX_ALARM))
            kind, body = _reply(desk, request)
            signal.alarm(0)
            for stream in filter(None, (sys.stdout, sys.stderr)):
                stream.flush()
            channel.sendall(struct.pack(HEADER, kind, len(body)) + body)
    finally:
        os._exit(1)


def _receive(channel: socket.socket, requests: queue.SimpleQueue[bytes]) -> None:
    """Put requests, one a line, into a queue; at their end the parent is gone, or has closed the channel."""
    with suppress(OSError), channel.makefile("rb") as lines:
        for line in lines:
            requests.put(line)
    os._exit(0)


def _reply(desk: Desk, request: bytes) -> tuple[int, bytes]:
    try:
        return ANSWERED, desk.encode(*json.loads(request))
    except ValueError as error:
        return REFUSED, str(error).encode(errors="replace")
    except BaseException as error:  # also what an environment does to end the process
        return FAILED, json.dumps([type(error).__name__, traceback.format_exc()]).encode()


def release_server_sockets() -> None:
    """Close the sockets of the parent's servers here: else connections stay open after the server closes them.

    Other sockets stay: an environment may use one to reach its simulator.
    """
    found: dict[int, tuple[int, bool]] = {}  # by descriptor, its port and whether it listens
    for descriptor in _descriptors():
        with suppress(OSError):
            if not stat.S_ISSOCK(os.fstat(descriptor).st_mode):
                continue
            one = socket.socket(fileno=descriptor)
            try:
                if one.family in (socket.AF_INET, socket.AF_INET6):
                    listens = bool(one.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN))
                    found[descriptor] = (one.getsockname()[1], listens)
            finally:
                one.detach()
    ports = {port for port, listens in found.values() if listens}
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor, (port, _) in found.items():
        if port in ports:
            os.dup2(nothing, descriptor, inheritable=False)  # keeps the number in use: an object still refers to it
    os.close(nothing)


def _descriptors() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/dev/fd")]
    except OSError:
        return list(range(1_024))
