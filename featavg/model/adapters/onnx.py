"""ONNX graphs that are a chain of affine nodes and ReLUs, read and written (extra `onnx`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from featavg.arrays import Array
from featavg.errors import InputError, reason
from featavg.model.activation import RELU, Activation
from featavg.model.adapters.chain import Affine, Step, network_of
from featavg.model.network import Network

SUPPORTED = (
    "Gemm, MatMul, Add, Sub, Mul, Div, BatchNormalization, Relu, LeakyRelu, Flatten, Reshape, Identity, Dropout, Cast, "
    "and a last Softmax, LogSoftmax or Sigmoid"
)
UNCHANGED = ("Flatten", "Reshape", "Identity", "Dropout", "Cast", "Squeeze", "Unsqueeze")
ENDINGS = ("Softmax", "LogSoftmax", "Sigmoid")
OPSET, IR_VERSION = 13, 8


def load(path: Path) -> Any:
    """The model in a file; what lies outside of the file is not read."""
    onnx = _onnx()
    try:
        return onnx.load(str(path), load_external_data=False)
    except Exception as error:  # protobuf fails on damaged bytes with errors of its own
        raise InputError(f"{path} is damaged or no ONNX file ({reason(error)}); export it again") from None


def read(model: Any) -> Network:
    """A model of one input whose nodes are a chain; a last Softmax or Sigmoid is left out, the outputs are logits."""
    graph = model.graph
    constants = _constants(graph)
    inputs = [given.name for given in graph.input if given.name not in constants]
    if len(inputs) != 1:
        raise InputError(f"an ONNX network needs one input, got {len(inputs)}")
    steps: list[Step] = []
    before, ended = inputs[0], ""
    for node in graph.node:
        if node.op_type == "Constant":
            continue
        if ended or before not in node.input:
            raise InputError(f"an ONNX network must be a plain chain, got {node.op_type} after {ended or 'a branch'}")
        if node.op_type in ENDINGS:
            ended = node.op_type
        elif node.op_type not in UNCHANGED:
            steps.append(_step(node, before, constants))
        before = node.output[0]
    return network_of(steps)


def write(network: Network, described: Mapping[str, str]) -> bytes:
    """The network as Gemm nodes with its activation between, float64; `described` travels as metadata."""
    helper, numpy_helper, onnx = _onnx().helper, _onnx().numpy_helper, _onnx()
    if network.activation.power != 1:  # a normalised one is of a higher power too
        raise InputError(f"ONNX has no power of ReLU; write a network of power {network.activation.power} as .npz")
    nodes, arrays, before = [], [], "points"
    for number, layer in enumerate(network.layers, start=1):
        if number > 1:
            leak = network.activation.leak
            kind, more = ("LeakyRelu", {"alpha": leak}) if leak else ("Relu", {})
            nodes.append(helper.make_node(kind, [before], [f"hidden_{number - 1}"], **more))
            before = f"hidden_{number - 1}"
        arrays += [
            numpy_helper.from_array(np.ascontiguousarray(layer.weights), f"weights_{number}"),
            numpy_helper.from_array(np.ascontiguousarray(layer.biases), f"biases_{number}"),
        ]
        after = "outputs" if number == len(network.layers) else f"preactivations_{number}"
        given = [before, f"weights_{number}", f"biases_{number}"]
        nodes.append(helper.make_node("Gemm", given, [after], transB=1))
        before = after
    double = onnx.TensorProto.DOUBLE
    points = helper.make_tensor_value_info("points", double, ["sample", network.inputs])
    outputs = helper.make_tensor_value_info("outputs", double, ["sample", network.output_count])
    graph = helper.make_graph(nodes, "featavg", [points], [outputs], arrays)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)
    helper.set_model_props(model, dict(described))
    packed: bytes = model.SerializeToString()
    return packed


def metadata(model: Any) -> dict[str, str]:
    """The texts that travel with a model."""
    return {entry.key: entry.value for entry in model.metadata_props}


def _constants(graph: Any) -> dict[str, Array]:
    to_array = _onnx().numpy_helper.to_array
    tensors = {tensor.name: tensor for tensor in graph.initializer}
    tensors |= {
        node.output[0]: node.attribute[0].t for node in graph.node if node.op_type == "Constant" and node.attribute
    }
    if any(tensor.data_location for tensor in tensors.values()):
        raise InputError("this ONNX file keeps its weights in other files, which are not read; export it as one file")
    try:
        return {name: to_array(tensor) for name, tensor in tensors.items()}
    except (KeyError, TypeError, ValueError) as error:  # a key is the number of a type that there is not
        raise InputError(f"this ONNX file holds a damaged tensor ({reason(error)}); export it again") from None


def _step(node: Any, before: str, constants: Mapping[str, Array]) -> Step:
    if node.op_type == "Relu":
        return RELU
    options = {entry.name: entry for entry in node.attribute}
    if node.op_type == "LeakyRelu":
        return Activation(leak=float(options["alpha"].f) if "alpha" in options else 0.01)
    missing = [name for name in node.input if name != before and name not in constants]
    if missing:
        raise InputError(f"an ONNX network must be a plain chain, got {node.op_type} of {missing[0]!r}, no constant")
    others = [np.asarray(constants[name], dtype=np.float64) for name in node.input if name != before]
    if node.op_type == "Gemm":
        return _gemm(others, options)
    if node.op_type == "BatchNormalization":
        scale, bias, mean, variance = others
        factor = scale / np.sqrt(variance + (options["epsilon"].f if "epsilon" in options else 1e-5))
        return Affine.of(factor, bias - factor * mean)
    if node.op_type == "MatMul" and node.input[0] == before:
        return Affine.of(others[0].T)
    return _by_feature(node, before, others[0] if others else np.zeros(0))


def _gemm(others: Sequence[Array], options: Mapping[str, Any]) -> Affine:
    """α x B + β c."""
    alpha = options["alpha"].f if "alpha" in options else 1.0
    beta = options["beta"].f if "beta" in options else 1.0
    if "transA" in options and options["transA"].i:
        raise InputError("an ONNX Gemm must not transpose its points (transA)")
    matrix = others[0] if "transB" in options and options["transB"].i else others[0].T
    return Affine.of(alpha * matrix, beta * np.ravel(others[1]) if len(others) > 1 else None)


def _by_feature(node: Any, before: str, constant: Array) -> Affine:
    """Add, Sub, Mul and Div with a vector, feature by feature."""
    vector, first = np.ravel(constant), node.input[0] == before
    one = np.ones(len(vector))
    if node.op_type == "Add":
        return Affine.of(one, vector)
    if node.op_type == "Sub":
        return Affine.of(one, -vector) if first else Affine.of(-one, vector)
    if node.op_type == "Mul":
        return Affine.of(vector)
    if node.op_type == "Div" and first:
        return Affine.of(one / vector)
    raise InputError(f"cannot read the ONNX node {node.op_type}; supported are {SUPPORTED}")


def _onnx() -> Any:
    try:
        import onnx
        import onnx.helper
        import onnx.numpy_helper
    except ImportError:
        raise InputError("ONNX files need the package: pip install 'featavg[onnx]'") from None
    return onnx
