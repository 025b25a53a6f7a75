"""The sink: where a document goes, and what is left when it cannot."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from ddinspect.cli.main import run
from ddinspect.cli.output import OutputError, Terminal, terminal, write_document

DECODER = Path(__file__).parents[2] / "fixtures" / "sd15-vae-decoder"


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such rights")
def test_a_file_has_the_rights_of_any_new_file_or_keeps_its_own(tmp_path: Path) -> None:
    plain, new, old = tmp_path / "plain", tmp_path / "new", tmp_path / "old"
    plain.touch()
    old.touch(mode=0o640)
    for path in (new, old):
        write_document("text", str(path))
    assert (mode(new), mode(old)) == (mode(plain), 0o640)


def test_a_failed_write_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "report").write_text("old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OutputError, match="report: cannot be written: No space left on device"):
        write_document("new", str(tmp_path / "report"))
    assert [path.name for path in tmp_path.iterdir()] == ["report"]
    assert (tmp_path / "report").read_text() == "old"


def test_line_ends_and_odd_characters_are_written_as_they_are(tmp_path: Path) -> None:
    write_document("a\r\nb\n\udc80\u6a21", str(tmp_path / "out"))
    assert (tmp_path / "out").read_bytes() == b"a\r\nb\n\\udc80" + "\u6a21".encode()


def test_a_file_is_shown_whole_and_without_colour() -> None:
    assert terminal("auto", to_file=True) == Terminal(width=None, color=False, unicode=True)
    assert terminal("always", to_file=True).color


class FakeTerminal:
    encoding = "ascii"

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        raise OSError


@pytest.mark.parametrize(
    ("variables", "color"),
    [({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True), ({"TERM": "dumb"}, False)],
)
def test_colour_on_a_terminal(variables: dict[str, str], color: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", FakeTerminal())
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert terminal("auto", to_file=False) == Terminal(width=None, color=color, unicode=False)
    assert terminal("never", to_file=False).color is False


def test_amds_layout_has_its_own_width_on_any_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("ddinspect.cli.report.terminal", lambda *_, **__: Terminal(200, False, True))
    assert run(["report", str(DECODER), "--format", "text"]) == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) == 79
    assert run(["report", str(DECODER), "--format", "text", "--width", "90"]) == 0
    assert max(map(len, capsys.readouterr().out.splitlines())) > 79


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_written_into_and_stays_one(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_document("text", str(pipe))
    assert os.read(reader, 10) == b"text"
    os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_link_is_written_through(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    write_document("new", str(tmp_path / "link"))
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text() == "new"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
def test_a_full_disk_behind_stdout_is_one_line_and_2() -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "ddinspect", "report", str(DECODER)],
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr.startswith(b"ddinspect: error: stdout: cannot be written: ")
    assert done.stderr.count(b"\n") == 1
