"""Runs the forward pass by `onnxruntime`, if it is installed (extra `[local]`)."""

import importlib
import logging
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smart_context.base.environment import refuse_onnxruntime_telemetry
from smart_context.llm.minilm.onnx_graph import model_bytes
from smart_context.llm.minilm.tensors import Tensors

_LOG = logging.getLogger(__name__)

Forward = Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.float32]]
"""Takes ids of shape (n, longest) and lengths of shape (n,); gives unit rows of shape (n, 384)."""


def onnx_forward(tensors: Tensors, *, library: str = "onnxruntime") -> Forward | None:
    """The forward pass, a thread per call; `None` if the library doesn't start.

    Args:
        tensors: The model's tensors, as they were converted.
        library: The module to import.
    """
    refuse_onnxruntime_telemetry()
    try:
        onnxruntime: Any = importlib.import_module(library)
    except ImportError:
        return None
    try:
        session = _session(onnxruntime, model_bytes(tensors))
    except Exception as error:  # noqa: BLE001 - it raises its own kinds; numpy is the fallback
        _LOG.warning("onnxruntime failed to start; using numpy instead: %s", error)
        return None

    def forward(ids: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.float32]:
        mask = (np.arange(ids.shape[1]) < lengths[:, None]).astype(np.int64)
        rows: NDArray[np.float32] = session.run(["rows"], {"ids": ids, "mask": mask})[0]
        return rows

    return forward


def _session(onnxruntime: Any, model: bytes) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.add_session_config_entry("session.disable_quant_qdq", "1")  # so weights are restored
    options.enable_cpu_mem_arena = False  # it keeps 60 MB from batch to batch, for 4 % of the time
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    vars(session).pop("_model_bytes", None)  # a copy of 23 MB, only for another provider
    return session
