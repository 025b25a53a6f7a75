"""The protobuf classes of ONNX, without the start-up cost of `import onnx`.

`import onnx` also loads numpy, ml_dtypes and the compiled checker: four times what the generated message classes
take, paid by everyone who only wants to look at a graph. The generated module needs nothing of its package, so it is
loaded by itself. The classes are the same ones: protobuf keeps one registry per process, and a later `import onnx`
finds them there.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

_GENERATED = "onnx.onnx_ml_pb2"


@cache
def message_classes() -> ModuleType:
    """The module that holds ModelProto, GraphProto, NodeProto, ..."""
    if _GENERATED in sys.modules:
        return sys.modules[_GENERATED]
    package = find_spec("onnx")
    for folder in (package.submodule_search_locations or ()) if package else ():
        spec = spec_from_file_location("_ddinspect_onnx_ml_pb2", Path(folder) / "onnx_ml_pb2.py")
        if spec is not None and spec.loader is not None and Path(folder, "onnx_ml_pb2.py").is_file():
            module = module_from_spec(spec)
            spec.loader.exec_module(module)
            return module
    import onnx.onnx_ml_pb2  # a package laid out another way: pay the price

    return onnx.onnx_ml_pb2
