"""How an ONNX model runs on an AMD Ryzen AI NPU."""

__version__ = "0.1.0"
