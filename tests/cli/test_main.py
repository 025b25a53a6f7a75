"""Start-up, errors, signals and odd terminals: what every command shares."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import ddinspect
from ddinspect.cli.main import run

DECODER = Path(__file__).parents[2] / "fixtures" / "sd15-vae-decoder"
COMMAND = [sys.executable, "-m", "ddinspect"]
HEAVY = ("onnx", "onnxruntime", "networkx", "rich", "msgspec", "importlib.metadata", "numpy", "tabulate", "jinja2")


@pytest.mark.parametrize("argument", ["--version", "--help"])
def test_start_up_imports_nothing_heavy(argument: str) -> None:
    code = (
        "import sys\nfrom ddinspect.cli.main import run\n"
        f"code = run([{argument!r}])\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules], code)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[] 0"


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"ddinspect {ddinspect.__version__}\n"


@pytest.mark.parametrize("command", [[], ["report"], ["rules"], ["explain"]])
def test_help_fits_80_columns_and_has_an_example(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*command, "--help"]) == 0
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 80
    assert "Example" in text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["report"], "Missing argument 'PATH...'"),
        (["report", "x", "--format", "pdf"], "'pdf' is not one of"),
        (["report", "x", "--fail-under", "many"], "not a valid float"),
        (["report", "x", "--fail-under", "nan"], "not a number"),
        (["report", "x", "--fail-under", "980"], "not in the range"),
        (["report", "x", "--formt", "json"], "Did you mean one of: '--format'"),
        (["reprot"], "No such command 'reprot'"),
        (["explain", "DD14"], "did you mean DD104?"),
        (["report", "no\nsuch\x1b.onnx"], r"no\nsuch\x1b.onnx: no such file"),
    ],
)
def test_wrong_usage_is_one_line_and_2(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("ddinspect: error: ")
    assert printed.err.count("\n") == 1
    assert said in printed.err


def test_the_bare_command_shows_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([]) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith("Usage: ddinspect")
    assert printed.err == ""


def test_interrupt_is_130(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("ddinspect.artifacts.locate.resolve", interrupted)
    assert run(["report", str(DECODER)]) == 130
    assert capsys.readouterr().out == ""


def test_bug_is_one_line_and_a_traceback_only_with_debug(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("oh\nno")

    monkeypatch.setattr("ddinspect.artifacts.locate.resolve", broken)
    assert run(["report", str(DECODER)]) == 2
    printed = capsys.readouterr().err
    assert printed.count("\n") == 1
    assert "a bug in ddinspect" in printed
    assert run(["--debug", "report", str(DECODER)]) == 2
    assert "Traceback" in capsys.readouterr().err


def test_closed_pipe_is_no_error() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as stdout:
        done = subprocess.run(
            [*COMMAND, "report", str(DECODER), "--format", "json"], stdout=stdout, stderr=subprocess.PIPE, check=False
        )
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "utf-8"])
def test_any_console_encoding(encoding: str) -> None:
    done = subprocess.run(
        [*COMMAND, "report", str(DECODER)],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"},
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert "dd_ratio=95.7%" in done.stdout.decode(encoding).splitlines()[-1]


@pytest.mark.parametrize(
    ("arguments", "coloured"),
    [(["--color", "always"], True), (["--color", "always", "--no-color"], False), ([], False)],
)
def test_colour_is_as_asked(arguments: list[str], coloured: bool, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["report", str(DECODER), *arguments]) == 0
    assert ("\x1b[" in capsys.readouterr().out) is coloured


def test_rules_and_explain(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rules"]) == 0
    listed = capsys.readouterr().out
    assert "DD104  warning  compute-island" in listed
    assert run(["explain", "dd104"]) == 0
    explained = capsys.readouterr().out
    assert explained.startswith("DD104 compute-island (warning)")
    assert run(["explain", "compute-island"]) == 0
    assert capsys.readouterr().out == explained


def test_interrupt_during_start_up_leaves_no_traceback() -> None:
    code = (
        "import sys, builtins\n"
        "load = builtins.__import__\n"
        "def interrupted(name, *rest):\n"
        "    if name.startswith('ddinspect.cli'): raise KeyboardInterrupt\n"
        "    return load(name, *rest)\n"
        "from ddinspect.__main__ import main\n"
        "builtins.__import__ = interrupted\n"
        "main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
