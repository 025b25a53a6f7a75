"""How an ONNX model runs on an AMD Ryzen AI NPU.

>>> import ddinspect
>>> report = ddinspect.analyze("unet/dd/replaced.onnx")
>>> report.summary.dd_ratio
98.1
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ddinspect.version import __version__

if TYPE_CHECKING:
    from ddinspect.errors import DDInspectError, UnreadableInputError, UsageError
    from ddinspect.report import PackageReport, Report, Reports, analyze, analyze_package

__all__ = [
    "DDInspectError",
    "PackageReport",
    "Report",
    "Reports",
    "UnreadableInputError",
    "UsageError",
    "__version__",
    "analyze",
    "analyze_package",
]


def __getattr__(name: str) -> Any:
    # The command's --help and --version import this module: they must not pay for the library behind it.
    if name in __all__:
        from importlib import import_module

        module = "ddinspect.errors" if name.endswith("Error") else "ddinspect.report"
        return getattr(import_module(module), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
