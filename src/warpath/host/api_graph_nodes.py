"""Nodes of graphs: adding them, and changing what they do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from warpath.driver.error import CudaError, Error
from warpath.driver.graph import GraphExec
from warpath.driver.launch import Launch, pack_arguments
from warpath.driver.limits import Configuration
from warpath.driver.marker import EventRecord, HostCall
from warpath.driver.transfer import Copy, CopyKind, Fill, Rows
from warpath.host.api_event import find_event
from warpath.host.api_graph import find_executable, find_graph, find_node, node_handle, read_nodes
from warpath.host.api_launch import find_function, packed_parameters, read_arguments
from warpath.host.api_transfer import Box, copy_kind, driver_box, runtime_box
from warpath.host.dispatch import entry

if TYPE_CHECKING:
    from warpath.driver.context import Work
    from warpath.driver.graph import Graph
    from warpath.host.dispatch import Call

_NO_CLUSTER = (1, 1, 1)


def _add(
    call: Call,
    pointer: int,
    handle: int,
    after: int,
    count: int,
    work: Work | None,
    child: Graph | None = None,
) -> None:
    graph = find_graph(call, handle)
    number = graph.add(work, read_nodes(call, after, count, graph), child)
    call.out(pointer, "Q", node_handle(call, graph, number))


def _replace(call: Call, handle: int, work: Work) -> None:
    """Other parameters for a node of a graph, which must be of the same type."""
    node = find_node(call, handle)
    found = node.graph.nodes[node.number]
    if type(found.work) is not type(work):
        raise CudaError(Error.INVALID_VALUE, "the node is of another type")
    found.work = work


def _replace_in_exec(call: Call, handle: int, node: int, work: Work) -> None:
    """The same in an instantiated graph, where only the snapshot changes."""
    executable, number = find_executable(call, handle), find_node(call, node).number
    found = executable.snapshot.nodes.get(number)
    if found is None or type(found.work) is not type(work):
        raise CudaError(Error.INVALID_VALUE, "the instantiated graph has no such node of this type")
    found.work = work
    executable.exec = GraphExec(executable.snapshot)


def _runtime_launch(values: dict[str, Any]) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    grid = (values["gridDim.x"], values["gridDim.y"], values["gridDim.z"])
    return grid, (values["blockDim.x"], values["blockDim.y"], values["blockDim.z"])


def _driver_launch(values: dict[str, Any]) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    grid = (values["gridDimX"], values["gridDimY"], values["gridDimZ"])
    return grid, (values["blockDimX"], values["blockDimY"], values["blockDimZ"])


def _kernel(call: Call, parameters: int) -> Launch:
    """The launch that a kernel node stands for."""
    if call.library == 0:
        values = call.take_struct(parameters, "CUDA_KERNEL_NODE_PARAMS")
        grid, block = _driver_launch(values)
        function = find_function(call, values["func"] or values["kern"])
    else:
        values = call.take_struct(parameters, "cudaKernelNodeParams")
        grid, block = _runtime_launch(values)
        function = find_function(call, values["func"])
    kernel = function.kernel
    if values["kernelParams"] or not values["extra"]:
        params = pack_arguments(kernel, read_arguments(call, function, values["kernelParams"]))
    else:
        params = packed_parameters(call, values["extra"]).ljust(kernel.param_size, b"\0")[: kernel.param_size]
    cluster = function.cluster or kernel.cluster or _NO_CLUSTER
    launch = Launch(function, Configuration(grid, block, values["sharedMemBytes"], cluster=cluster), params)
    launch.check(call.driver)
    return launch


@entry("cudaGraphAddKernelNode", "cuGraphAddKernelNode_v2")
def add_kernel_node(call: Call, pointer: int, graph: int, after: int, count: int, parameters: int) -> None:
    """A kernel launch; its arguments are read now."""
    _add(call, pointer, graph, after, count, _kernel(call, parameters))


@entry("cudaGraphKernelNodeSetParams", "cuGraphKernelNodeSetParams_v2")
def kernel_node_set_params(call: Call, node: int, parameters: int) -> None:
    """Another launch for a node."""
    _replace(call, node, _kernel(call, parameters))


@entry("cudaGraphExecKernelNodeSetParams", "cuGraphExecKernelNodeSetParams_v2")
def exec_kernel_node_set_params(call: Call, handle: int, node: int, parameters: int) -> None:
    """Another launch in an instantiated graph."""
    _replace_in_exec(call, handle, node, _kernel(call, parameters))


@dataclass(frozen=True, slots=True)
class Copies:
    """A box copy as one node: its slices one after the other."""

    slices: tuple[Copy, ...]

    @property
    def label(self) -> str:
        """For the report."""
        return f"{self.slices[0].label} and {len(self.slices) - 1} more slices"

    def call_ns(self, driver: Any) -> int:
        """As one copy."""
        return self.slices[0].call_ns(driver)

    def check(self, driver: Any) -> None:
        """As each slice."""
        for copy in self.slices:
            copy.check(driver)

    def submit(self, driver: Any, stream: Any) -> None:
        """One after the other."""
        for copy in self.slices:
            copy.submit(driver, stream)


def _copy_work(call: Call, box: Box) -> Work | None:
    if not box.width * box.height * box.depth:
        return None
    slices = [
        Copy(
            Rows(
                box.dst + index * box.dst_rows * box.dst_pitch,
                box.src + index * box.src_rows * box.src_pitch,
                box.width,
                box.height,
                box.dst_pitch,
                box.src_pitch,
            ),
            box.kind,
            call.mover,
            blocking=False,
        )
        for index in range(box.depth)
    ]
    return slices[0] if len(slices) == 1 else Copies(tuple(slices))


def _linear(call: Call, dst: int, src: int, size: int, kind: CopyKind) -> Work | None:
    return _copy_work(call, Box(dst, size, 1, src, size, 1, size, 1, 1, kind))


@entry("cudaGraphAddMemcpyNode")
def add_memcpy_node(call: Call, pointer: int, graph: int, after: int, count: int, parameters: int) -> None:
    """A box copy."""
    box = runtime_box(call.take_struct(parameters, "cudaMemcpy3DParms"))
    _add(call, pointer, graph, after, count, _copy_work(call, box))


@entry("cuGraphAddMemcpyNode")
def driver_add_memcpy_node(
    call: Call, pointer: int, graph: int, after: int, count: int, parameters: int, _context: int
) -> None:
    """The driver's form."""
    box = driver_box(call.take_struct(parameters, "CUDA_MEMCPY3D"))
    _add(call, pointer, graph, after, count, _copy_work(call, box))


@entry("cudaGraphAddMemcpyNode1D")
def add_memcpy_node_1d(
    call: Call, pointer: int, graph: int, after: int, count: int, dst: int, src: int, size: int, kind: int
) -> None:
    """A linear copy."""
    _add(call, pointer, graph, after, count, _linear(call, dst, src, size, copy_kind(kind)))


def _need(work: Work | None) -> Work:
    if work is None:
        raise CudaError(Error.INVALID_VALUE, "a copy of nothing")
    return work


@entry("cudaGraphMemcpyNodeSetParams1D")
def memcpy_node_set_params_1d(call: Call, node: int, dst: int, src: int, size: int, kind: int) -> None:
    """Another copy for a node."""
    _replace(call, node, _need(_linear(call, dst, src, size, copy_kind(kind))))


@entry("cudaGraphExecMemcpyNodeSetParams1D")
def exec_memcpy_node_set_params_1d(
    call: Call, handle: int, node: int, dst: int, src: int, size: int, kind: int
) -> None:
    """Another copy in an instantiated graph."""
    _replace_in_exec(call, handle, node, _need(_linear(call, dst, src, size, copy_kind(kind))))


def _fill(call: Call, parameters: int) -> Fill:
    values = call.take_struct(parameters, "cudaMemsetParams")  # the driver's structure is the same
    element = values["elementSize"]
    fill = Fill(
        values["dst"],
        values["value"] & ((1 << 8 * element) - 1),
        element,
        values["width"],
        max(values["height"], 1),
        values["pitch"],
    )
    fill.check(call.driver)
    return fill


@entry("cudaGraphAddMemsetNode")
def add_memset_node(call: Call, pointer: int, graph: int, after: int, count: int, parameters: int) -> None:
    """A fill."""
    _add(call, pointer, graph, after, count, _fill(call, parameters))


@entry("cuGraphAddMemsetNode")
def driver_add_memset_node(
    call: Call, pointer: int, graph: int, after: int, count: int, parameters: int, _context: int
) -> None:
    """The driver's form."""
    _add(call, pointer, graph, after, count, _fill(call, parameters))


@entry("cudaGraphMemsetNodeSetParams", "cuGraphMemsetNodeSetParams")
def memset_node_set_params(call: Call, node: int, parameters: int) -> None:
    """Another fill for a node."""
    _replace(call, node, _fill(call, parameters))


@entry("cudaGraphExecMemsetNodeSetParams")
def exec_memset_node_set_params(call: Call, handle: int, node: int, parameters: int) -> None:
    """Another fill in an instantiated graph."""
    _replace_in_exec(call, handle, node, _fill(call, parameters))


def _host_call(call: Call, parameters: int) -> HostCall:
    values = call.take_struct(parameters, "cudaHostNodeParams")
    call.runtime.prepare_worker(call)
    runtime, process = call.runtime, call.process
    function, argument = values["fn"], values["userData"]
    return HostCall(lambda: runtime.run_host_function(process, function, argument))


@entry("cudaGraphAddHostNode", "cuGraphAddHostNode")
def add_host_node(call: Call, pointer: int, graph: int, after: int, count: int, parameters: int) -> None:
    """A host function."""
    _add(call, pointer, graph, after, count, _host_call(call, parameters))


@entry("cudaGraphHostNodeSetParams", "cuGraphHostNodeSetParams")
def host_node_set_params(call: Call, node: int, parameters: int) -> None:
    """Another host function for a node."""
    _replace(call, node, _host_call(call, parameters))


@entry("cudaGraphExecHostNodeSetParams", "cuGraphExecHostNodeSetParams")
def exec_host_node_set_params(call: Call, handle: int, node: int, parameters: int) -> None:
    """Another host function in an instantiated graph."""
    _replace_in_exec(call, handle, node, _host_call(call, parameters))


@entry("cudaGraphAddEmptyNode", "cuGraphAddEmptyNode")
def add_empty_node(call: Call, pointer: int, graph: int, after: int, count: int) -> None:
    """A meeting point."""
    _add(call, pointer, graph, after, count, None)


@entry("cudaGraphAddChildGraphNode", "cuGraphAddChildGraphNode")
def add_child_graph_node(call: Call, pointer: int, graph: int, after: int, count: int, child: int) -> None:
    """A copy of another graph as one node."""
    _add(call, pointer, graph, after, count, None, find_graph(call, child).clone())


@entry("cudaGraphChildGraphNodeGetGraph", "cuGraphChildGraphNodeGetGraph")
def child_graph_node_get_graph(call: Call, handle: int, pointer: int) -> None:
    """The graph inside a node."""
    node = find_node(call, handle)
    child = node.graph.nodes[node.number].child
    if child is None:
        raise CudaError(Error.INVALID_VALUE, "the node holds no graph")
    call.out(pointer, "Q", call.runtime.handles.put(child))


@entry("cudaGraphAddEventRecordNode", "cuGraphAddEventRecordNode")
def add_event_record_node(call: Call, pointer: int, graph: int, after: int, count: int, event: int) -> None:
    """An event record."""
    _add(call, pointer, graph, after, count, EventRecord(find_event(call, event)))


@entry("cudaGraphEventRecordNodeSetEvent", "cuGraphEventRecordNodeSetEvent")
def event_record_node_set_event(call: Call, node: int, event: int) -> None:
    """Another event for a node."""
    _replace(call, node, EventRecord(find_event(call, event)))


@entry("cudaGraphExecEventRecordNodeSetEvent", "cuGraphExecEventRecordNodeSetEvent")
def exec_event_record_node_set_event(call: Call, handle: int, node: int, event: int) -> None:
    """Another event in an instantiated graph."""
    _replace_in_exec(call, handle, node, EventRecord(find_event(call, event)))
