"""A worker of the fuzzer whose loads go wrong on purpose, for the supervisor's test."""

import os
from types import SimpleNamespace

import whatfor as wf
from fuzz import worker


def refuse():
    raise wf.FolderError("this is not a run")


def abort():
    os.abort()


def hang():
    while True:
        pass


def grow():
    held = bytearray(600 << 20)
    hang()
    return held


def write_elsewhere():
    with open("elsewhere", "w") as file:
        file.write("x")
    os.remove("elsewhere")


def out_of_bounds():
    try:
        raise IndexError("index is out of bounds")
    except IndexError as error:
        raise wf.FolderError("it is rejected, and too late") from error


def other_exception():
    raise KeyError("labels")


def two_lines():
    error = wf.FolderError("one line")
    error.args = ("two\nlines",)
    raise error


PLANTED = {
    0: refuse,
    1: abort,
    2: hang,
    3: grow,
    4: write_elsewhere,
    5: out_of_bounds,
    6: other_exception,
    7: two_lines,
}


class Planted(worker.Worker):
    """Misbehaves in the way that the number of its case selects, instead of loading."""

    def work(self, number):
        self.wf = SimpleNamespace(FolderError=wf.FolderError, load=lambda folder: PLANTED[number]())
        return super().work(number)


if __name__ == "__main__":
    worker.Worker = Planted
    worker.main()
