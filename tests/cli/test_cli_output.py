"""The output of the command line is safe for terminals, in any encoding, and with closed pipes (attack 19)."""

import json
import os
import signal
import subprocess
import sys

import pytest

import whatfor as wf
from whatfor.signals import interruptible

COMMAND = [sys.executable, "-m", "whatfor"]
POLES = "cart at -0.8 to 0.8, moving at -0.83 to 0.83; pole at -4° to 0°, swinging at -0.33 to 0.33"
#: A shell without UTF-8: neither the output nor the names of files.
C_LOCALE = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


def call(*arguments, command=COMMAND, **environment):
    """Run a command in a child process; output and errors as bytes."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("LC_", "LANG", "PYTHONIO"))}
    return subprocess.run(
        [*command, *arguments], capture_output=True, check=False, env={**clean, **environment}, timeout=120
    )


@pytest.fixture(scope="module")
def cartpole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cli") / "cartpole"
    wf.train(wf.worlds.cartpole(), wf.QLearning(), episodes=20, seed=0).save(folder)
    return folder


@pytest.mark.parametrize(
    ("environment", "degree"),
    [
        ({"PYTHONIOENCODING": "utf-8"}, "°".encode()),
        ({"PYTHONIOENCODING": "latin-1"}, b"\xb0"),
        ({"PYTHONIOENCODING": "ascii"}, b"?"),
        (C_LOCALE, b"?"),
    ],
    ids=["utf-8", "latin-1", "ascii", "C"],
)
def test_characters_that_the_output_lacks_are_replaced(cartpole, environment, degree):
    done = call("explain", cartpole, "--state", "79", **environment)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"pole at -4" + degree + b" to 0" in done.stdout


def test_json_is_the_same_in_every_encoding(cartpole):
    ascii_, utf8 = (
        call("explain", cartpole, "--state", "79", "--json", PYTHONIOENCODING=name).stdout
        for name in ("ascii", "utf-8")
    )
    assert ascii_ == utf8
    assert POLES in json.dumps(json.loads(utf8), ensure_ascii=False)


def test_help_is_printed_in_ascii_too():
    done = call("explain", "--help", PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"usage: whatfor explain" in done.stdout


def test_terminal_escapes_are_shown(capsys):
    from whatfor import terminal

    terminal.print_safely("\x1b]0;owned\x07 two\nlines")
    terminal.print_error(ValueError("\x1b[2J\u202egone"))
    assert capsys.readouterr() == ("\\x1b]0;owned\\x07 two\nlines\n", "whatfor: \\x1b[2J\\u202egone\n")


def test_escapes_in_the_name_of_a_folder_do_not_reach_the_terminal(whatfor, run, tmp_path):
    folder = tmp_path / "\x1b[31mred"
    code, out, err = whatfor("explain", folder, "--state", "0")
    assert (code, out) == (2, "")
    assert "\\x1b[31mred" in err
    assert "\x1b" not in err
    run.save(folder)
    code, out, err = whatfor("report", folder, "--episodes", "1", "--out", tmp_path / "\x1b[31m.html")
    assert (code, err) == (0, "")
    assert "\x1b" not in out


ALL = """
import sys
from whatfor.cli import main
folder = sys.argv[1]
for words in (
    ["train", "chain", "--episodes", "20", "--out", folder],
    ["explain", folder, "--state", "0"],
    ["draw", folder, "--state", "0", "--out", folder + ".png"],
    ["report", folder, "--episodes", "1", "--out", folder + ".html"],
):
    sys.argv[1:] = words
    main()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are any bytes on Linux alone")
@pytest.mark.parametrize("environment", [{}, C_LOCALE], ids=["utf-8", "C"])
def test_folders_of_any_name_can_be_used(tmp_path, environment):
    folder = os.fsencode(tmp_path) + b"/" + "p\u00f6nk".encode() + b"\xff"
    done = call(folder, command=[sys.executable, "-c", ALL], **environment)
    assert (done.returncode, done.stderr) == (0, b"")
    assert len(done.stdout.splitlines()) > 10
    assert os.path.getsize(folder + b".png") > 1_000
    assert os.path.getsize(folder + b".html") > 10_000


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("p\u00f6nk", "p\u00f6nk"),
        (os.fsdecode("p\u00f6nk".encode()), "p\u00f6nk"),
        ("x\udcff", "x\ufffd"),
        ("a\nb\x1b", "a b\\x1b"),
        ("taxi/.", "taxi"),
    ],
)
def test_the_title_of_a_report_is_text(path, name):
    from whatfor.text import file_name

    assert file_name(path) == name


@pytest.mark.parametrize("words", [["--help"], ["explain", "{}", "--state", "79", "--json"]], ids=["help", "explain"])
def test_a_closed_pipe_ends_it_quietly(cartpole, words):
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [*COMMAND, *(word.format(cartpole) for word in words)],
        stdout=writer, stderr=subprocess.PIPE, check=False,
    )  # fmt: skip
    os.close(writer)
    assert done.stderr == b""
    assert done.returncode in ((0, 1) if words == ["--help"] else (1,))  # tyro before 1.0 ends its help with 0


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_an_output_that_is_full_gets_one_line(cartpole):
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*COMMAND, "explain", cartpole, "--state", "79"], stdout=full, stderr=subprocess.PIPE, check=False
        )
    assert done.returncode == 2
    assert done.stderr == b"whatfor: the output could not be written: No space left on device\n"


def test_ctrl_c_gets_one_line(whatfor, cartpole, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(wf, "load", interrupted, raising=False)
    try:
        ended = whatfor("explain", cartpole, "--state", "79")
    except KeyboardInterrupt:
        pytest.fail("a traceback")
    assert ended == (130, "", "whatfor: interrupted\n")


@pytest.mark.parametrize(
    ("before", "then"), [(signal.SIG_DFL, signal.default_int_handler), (signal.SIG_IGN, signal.SIG_IGN)]
)
def test_ctrl_c_interrupts_a_command_that_has_begun(before, then):
    seen, own = [], signal.signal(signal.SIGINT, before)
    try:
        interruptible(lambda: seen.append(signal.getsignal(signal.SIGINT)))()
    finally:
        signal.signal(signal.SIGINT, own)
    assert seen == [then], "a shell may ignore Ctrl-C for a background command"
