"""How long `ddinspect report` takes, as ratios measured in one run.

    python -m pip install . && python benchmarks/report_speed.py

Machines differ and are noisy, so no row is a bare time: each command is run in turn with a yardstick (A B A B ...),
and the table gives the median of both and the median of the ratios. Peak memory is what the system accounts to the
finished process. The 1.5 GB model is made in a temporary folder and removed again (`--keep FOLDER` keeps it).
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

PYTHON = sys.executable
UNET = Path(__file__).parent.parent / "fixtures" / "graphs" / "sdturbo_unet.onnx"
LAYERS = 400  # five nodes each: 2 000 nodes, 375 of the layers with a 4 MB weight
WEIGHTS = 375


class Run(NamedTuple):
    """One finished process."""

    seconds: float
    mebibytes: float


class Row(NamedTuple):
    """A command, its yardstick, and the ratio the project promises."""

    name: str
    command: list[str]
    yardstick_name: str
    yardstick: list[str]
    at_most: float


def make_big_model(path: Path) -> None:
    """A 1.5 GB single-file model of 2 000 nodes: MatMul, Add, Relu, Mul, Add per layer."""
    import numpy as np
    from onnx import ModelProto, TensorProto, helper, numpy_helper

    random = np.random.default_rng(0)
    weight = random.standard_normal((1000, 1000), dtype=np.float32)
    initializers = [numpy_helper.from_array(np.float32(0.5), "half")]
    nodes = []
    for layer in range(LAYERS):
        held = layer if layer < WEIGHTS else 0
        if layer < WEIGHTS:
            initializers.append(numpy_helper.from_array(np.roll(weight, layer, axis=1), f"w{layer}"))
            initializers.append(numpy_helper.from_array(weight[layer], f"b{layer}"))
        x = f"x{layer}"
        nodes += [
            helper.make_node("MatMul", [x, f"w{held}"], [f"{x}_m"], f"/layer.{layer}/MatMul"),
            helper.make_node("Add", [f"{x}_m", f"b{held}"], [f"{x}_a"], f"/layer.{layer}/Add"),
            helper.make_node("Relu", [f"{x}_a"], [f"{x}_r"], f"/layer.{layer}/Relu"),
            helper.make_node("Mul", [f"{x}_r", "half"], [f"{x}_h"], f"/layer.{layer}/Mul"),
            helper.make_node("Add", [f"{x}_h", x], [f"x{layer + 1}"], f"/layer.{layer}/Add_1"),
        ]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 1000]) for name in ("x0", f"x{LAYERS}")]
    graph = helper.make_graph(nodes, "big", ends[:1], ends[1:], initializers)
    model: ModelProto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)
    with path.open("wb") as file:
        file.write(model.SerializeToString())


def run(command: list[str]) -> Run:
    """Run a command to its end; its output is thrown away."""
    started = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} failed with {process.returncode}")
    scale = 1 if sys.platform == "darwin" else 1024  # ru_maxrss is in bytes on macOS, in KiB elsewhere
    return Run(seconds, usage.ru_maxrss * scale / 2**20)


def measure(row: Row, runs: int) -> str:
    """One line of the table."""
    run(row.command), run(row.yardstick)  # warm the file cache
    pairs = [(run(row.command), run(row.yardstick)) for _ in range(runs)]
    ratio = statistics.median(ours.seconds / theirs.seconds for ours, theirs in pairs)
    ours, theirs = (Run(*map(statistics.median, zip(*side, strict=True))) for side in zip(*pairs, strict=True))
    missed = " (missed)" if ratio > row.at_most else ""
    return (
        f"| {row.name} | {ours.seconds:.2f} s, {ours.mebibytes:.0f} MiB | {row.yardstick_name} "
        f"| {theirs.seconds:.2f} s, {theirs.mebibytes:.0f} MiB | {ratio:.2f} | {row.at_most}{missed} |"
    )


def rows(big: Path) -> list[Row]:
    """What is measured. Each promise is the ratio of wall times."""
    # -P: the installed package, whose byte code is ready, and not the sources in the working directory.
    ours = [PYTHON, "-P", "-m", "ddinspect"]
    load = f"import onnx; onnx.load({str(big)!r}, load_external_data=False)"
    python = [PYTHON, "-c"]
    return [
        Row("`report`, 1.5 GB in one file", [*ours, "report", str(big)], "`onnx.load`", [*python, load], 0.3),
        Row("`report`, SD-Turbo UNet", [*ours, "report", str(UNET)], "`import onnx`", [*python, "import onnx"], 4),
        Row("`--version`", [*ours, "--version"], "bare interpreter", [*python, "pass"], 8),
    ]


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=7, help="counted runs of each command (default 7)")
    parser.add_argument("--keep", type=Path, help="folder for the big model, made once and kept")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder: Path = arguments.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        big = folder / "big.onnx"
        if not big.exists():
            # In a process of its own: a child's peak memory is never less than its parent's was.
            subprocess.run([PYTHON, __file__, "--make", str(big)], check=True)
        print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, ", end="")
        print(", ".join(f"{name} {version(name)}" for name in ("onnx", "msgspec", "rich", "click")))
        print(f"{big.stat().st_size / 1e9:.2f} GB model; medians of {arguments.runs} runs each, in turn\n")
        print("| command | time, peak memory | yardstick | time, peak memory | ratio | promised at most |")
        print("|---|---|---|---|---|---|")
        for row in rows(big):
            print(measure(row, arguments.runs), flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--make"]:
        make_big_model(Path(sys.argv[2]))
    else:
        main()
