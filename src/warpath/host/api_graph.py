"""Graphs: creation, structure, instantiation, launch, update."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from warpath.driver.error import CudaError, Error
from warpath.driver.graph import Graph, GraphExec
from warpath.driver.launch import Launch
from warpath.driver.marker import EventRecord, HostCall
from warpath.driver.transfer import Copy, Fill
from warpath.host.dispatch import entry
from warpath.host.layout import enum

if TYPE_CHECKING:
    from collections.abc import Sequence

    from warpath.host.dispatch import Call

MAX_NODES = 1 << 20
_UPDATE_OK, _TOPOLOGY_CHANGED, _TYPE_CHANGED = 0, 2, 3


@dataclass(frozen=True, eq=False)
class GraphNode:
    """A node as the program holds it: a graph and the node's number in it."""

    graph: Graph
    number: int


@dataclass(eq=False)
class Executable:
    """An instantiated graph: the works in order and, for updates, a snapshot of the graph they came from."""

    source: Graph
    snapshot: Graph
    exec: GraphExec


def find_graph(call: Call, handle: int) -> Graph:
    """The graph behind a handle; error 400."""
    return call.runtime.handles.get(handle, Graph)


def find_node(call: Call, handle: int) -> GraphNode:
    """The node behind a handle; error 400, also when it was removed."""
    node = call.runtime.handles.get(handle, GraphNode)
    if node.number not in node.graph.nodes:
        raise CudaError(Error.INVALID_RESOURCE_HANDLE, "the node was removed")
    return node


def node_handle(call: Call, graph: Graph, number: int) -> int:
    """The handle of a node, the same each time."""
    known = call.runtime.node_handles
    if (graph, number) not in known:
        known[graph, number] = call.runtime.handles.put(GraphNode(graph, number))
    return known[graph, number]


def _forget_node(call: Call, graph: Graph, number: int) -> None:
    handle = call.runtime.node_handles.pop((graph, number), None)
    if handle is not None:
        call.runtime.handles.drop(handle)


def read_nodes(call: Call, pointer: int, count: int, graph: Graph) -> list[int]:
    """Numbers of the nodes in an array of handles; error 1 for nodes of another graph."""
    if count > MAX_NODES:
        raise CudaError(Error.INVALID_VALUE, f"{count} dependencies")
    handles = call.take(pointer, f"{count}Q") if count else ()
    nodes = [find_node(call, handle) for handle in handles]
    if any(node.graph is not graph for node in nodes):
        raise CudaError(Error.INVALID_VALUE, "a dependency belongs to another graph")
    return [node.number for node in nodes]


def write_nodes(call: Call, pointer: int, count: int, graph: Graph, numbers: Sequence[int]) -> None:
    """An array of node handles as the query functions return it: count only when there is no array."""
    if pointer:
        (room,) = call.take(count, "Q")
        handles = [node_handle(call, graph, number) for number in numbers[:room]]
        handles += [0] * (room - len(handles))
        if handles:
            call.out(pointer, f"{len(handles)}Q", *handles)
        call.out(count, "Q", min(room, len(numbers)))
    else:
        call.out(count, "Q", len(numbers))


@entry("cudaGraphCreate", "cuGraphCreate")
def graph_create(call: Call, pointer: int, flags: int) -> None:
    """An empty graph."""
    if flags:
        raise CudaError(Error.INVALID_VALUE, "graphs take no flags")
    call.out(pointer, "Q", call.runtime.handles.put(Graph()))


@entry("cudaGraphDestroy", "cuGraphDestroy")
def graph_destroy(call: Call, handle: int) -> None:
    """Forget a graph and its nodes."""
    graph = find_graph(call, handle)
    for number in graph.nodes:
        _forget_node(call, graph, number)
    call.runtime.handles.drop(handle)


@entry("cudaGraphClone", "cuGraphClone")
def graph_clone(call: Call, pointer: int, handle: int) -> None:
    """A copy whose nodes have the same numbers."""
    call.out(pointer, "Q", call.runtime.handles.put(find_graph(call, handle).clone()))


@entry("cudaGraphNodeFindInClone", "cuGraphNodeFindInClone")
def node_find_in_clone(call: Call, pointer: int, node: int, clone: int) -> None:
    """The node of a copy that stands for a node of the original."""
    number, graph = find_node(call, node).number, find_graph(call, clone)
    if number not in graph.nodes:
        raise CudaError(Error.INVALID_VALUE, "the copy has no such node")
    call.out(pointer, "Q", node_handle(call, graph, number))


@entry("cudaGraphDestroyNode", "cuGraphDestroyNode")
def graph_destroy_node(call: Call, handle: int) -> None:
    """Remove a node and its edges."""
    node = find_node(call, handle)
    node.graph.remove(node.number)
    _forget_node(call, node.graph, node.number)


@entry("cudaGraphGetNodes", "cuGraphGetNodes")
def graph_get_nodes(call: Call, handle: int, pointer: int, count: int) -> None:
    """All nodes."""
    graph = find_graph(call, handle)
    write_nodes(call, pointer, count, graph, list(graph.nodes))


@entry("cudaGraphGetRootNodes", "cuGraphGetRootNodes")
def graph_get_root_nodes(call: Call, handle: int, pointer: int, count: int) -> None:
    """Nodes without dependencies."""
    graph = find_graph(call, handle)
    write_nodes(call, pointer, count, graph, graph.roots())


def _edges(call: Call, handle: int, before: int, after: int, count: int) -> None:
    graph = find_graph(call, handle)
    edges = graph.edges()
    if before and after:
        (room,) = call.take(count, "Q")
        for pointer, side in ((before, 0), (after, 1)):
            handles = [node_handle(call, graph, edge[side]) for edge in edges[:room]]
            if handles:
                call.out(pointer, f"{len(handles)}Q", *handles)
        call.out(count, "Q", min(room, len(edges)))
    else:
        call.out(count, "Q", len(edges))


@entry("cudaGraphGetEdges", library=12)
@entry("cuGraphGetEdges")
def graph_get_edges(call: Call, handle: int, before: int, after: int, count: int) -> None:
    """Pairs of nodes."""
    _edges(call, handle, before, after, count)


@entry("cudaGraphGetEdges", library=13)
@entry("cudaGraphGetEdges_v2", "cuGraphGetEdges_v2")
def graph_get_edges_v2(call: Call, handle: int, before: int, after: int, _data: int, count: int) -> None:
    """Pairs of nodes; edges carry no data."""
    _edges(call, handle, before, after, count)


def _neighbours(call: Call, handle: int, pointer: int, count: int, *, after: bool) -> None:
    node = find_node(call, handle)
    if after:
        numbers = [number for number, other in node.graph.nodes.items() if node.number in other.after]
    else:
        numbers = list(node.graph.nodes[node.number].after)
    write_nodes(call, pointer, count, node.graph, numbers)


@entry("cudaGraphNodeGetDependencies", library=12)
@entry("cuGraphNodeGetDependencies")
def node_get_dependencies(call: Call, handle: int, pointer: int, count: int) -> None:
    """What a node waits for."""
    _neighbours(call, handle, pointer, count, after=False)


@entry("cudaGraphNodeGetDependencies", library=13)
@entry("cudaGraphNodeGetDependencies_v2", "cuGraphNodeGetDependencies_v2")
def node_get_dependencies_v2(call: Call, handle: int, pointer: int, _data: int, count: int) -> None:
    """What a node waits for."""
    _neighbours(call, handle, pointer, count, after=False)


@entry("cudaGraphNodeGetDependentNodes", library=12)
@entry("cuGraphNodeGetDependentNodes")
def node_get_dependents(call: Call, handle: int, pointer: int, count: int) -> None:
    """What waits for a node."""
    _neighbours(call, handle, pointer, count, after=True)


@entry("cudaGraphNodeGetDependentNodes", library=13)
@entry("cudaGraphNodeGetDependentNodes_v2", "cuGraphNodeGetDependentNodes_v2")
def node_get_dependents_v2(call: Call, handle: int, pointer: int, _data: int, count: int) -> None:
    """What waits for a node."""
    _neighbours(call, handle, pointer, count, after=True)


def _change(call: Call, handle: int, before: int, after: int, count: int, *, add: bool) -> None:
    graph = find_graph(call, handle)
    pairs = zip(read_nodes(call, before, count, graph), read_nodes(call, after, count, graph), strict=True)
    for first, second in pairs:
        if add:
            graph.add_dependency(first, second)
        else:
            graph.remove_dependency(first, second)


@entry("cudaGraphAddDependencies", library=12)
@entry("cuGraphAddDependencies")
def add_dependencies(call: Call, handle: int, before: int, after: int, count: int) -> None:
    """New edges."""
    _change(call, handle, before, after, count, add=True)


@entry("cudaGraphAddDependencies", library=13)
@entry("cudaGraphAddDependencies_v2", "cuGraphAddDependencies_v2")
def add_dependencies_v2(call: Call, handle: int, before: int, after: int, _data: int, count: int) -> None:
    """New edges."""
    _change(call, handle, before, after, count, add=True)


@entry("cudaGraphRemoveDependencies", library=12)
@entry("cuGraphRemoveDependencies")
def remove_dependencies(call: Call, handle: int, before: int, after: int, count: int) -> None:
    """Fewer edges."""
    _change(call, handle, before, after, count, add=False)


@entry("cudaGraphRemoveDependencies", library=13)
@entry("cudaGraphRemoveDependencies_v2", "cuGraphRemoveDependencies_v2")
def remove_dependencies_v2(call: Call, handle: int, before: int, after: int, _data: int, count: int) -> None:
    """Fewer edges."""
    _change(call, handle, before, after, count, add=False)


_TYPES: tuple[tuple[type, str], ...] = (
    (Launch, "Kernel"),
    (Copy, "Memcpy"),
    (Fill, "Memset"),
    (HostCall, "Host"),
    (EventRecord, "EventRecord"),
)


def node_type(graph: Graph, number: int) -> int:
    """`cudaGraphNodeType` of a node."""
    ids, node = enum("cudaGraphNodeType"), graph.nodes[number]
    if node.child is not None:
        return ids["cudaGraphNodeTypeGraph"]
    for kind, name in _TYPES:
        if isinstance(node.work, kind):
            return ids[f"cudaGraphNodeType{name}"]
    return ids["cudaGraphNodeTypeEmpty"]


@entry("cudaGraphNodeGetType", "cuGraphNodeGetType")
def node_get_type(call: Call, handle: int, pointer: int) -> None:
    """Kernel, copy, fill, host function, graph, event or empty."""
    node = find_node(call, handle)
    call.out(pointer, "i", node_type(node.graph, node.number))


# Instantiation and launch


def _instantiate(call: Call, pointer: int, handle: int) -> None:
    graph = find_graph(call, handle)
    executable = Executable(graph, graph.clone(), GraphExec(graph))
    call.out(pointer, "Q", call.runtime.handles.put(executable))


@entry("cudaGraphInstantiate", "cudaGraphInstantiateWithFlags", "cuGraphInstantiateWithFlags")
def graph_instantiate(call: Call, pointer: int, handle: int, _flags: int) -> None:
    """A snapshot that can be launched."""
    _instantiate(call, pointer, handle)


@entry("cudaGraphInstantiateWithParams", "cuGraphInstantiateWithParams")
def graph_instantiate_with_params(call: Call, pointer: int, handle: int, parameters: int) -> None:
    """The same; the result is also stored with the parameters."""
    values = call.take_struct(parameters, "cudaGraphInstantiateParams")
    _instantiate(call, pointer, handle)
    values["result_out"] = 0
    call.out_struct(parameters, "cudaGraphInstantiateParams", values)


@entry("cuGraphInstantiate_v2")
def graph_instantiate_v2(call: Call, pointer: int, handle: int, node: int, _log: int, _size: int) -> None:
    """The older form, which may name a node that cannot be instantiated."""
    call.out_if(node, "Q", 0)
    _instantiate(call, pointer, handle)


def find_executable(call: Call, handle: int) -> Executable:
    """The instantiated graph behind a handle; error 400."""
    return call.runtime.handles.get(handle, Executable)


@entry("cudaGraphLaunch", "cuGraphLaunch")
def graph_launch(call: Call, handle: int, stream: int) -> None:
    """Run it in a stream."""
    call.driver.launch_graph(find_executable(call, handle).exec, call.stream(stream))


@entry("cudaGraphUpload", "cuGraphUpload")
def graph_upload(call: Call, handle: int, stream: int) -> None:
    """Nothing to prepare in the model."""
    find_executable(call, handle)
    call.stream(stream)


@entry("cudaGraphExecDestroy", "cuGraphExecDestroy")
def graph_exec_destroy(call: Call, handle: int) -> None:
    """Forget it; launches under way go on."""
    find_executable(call, handle)
    call.runtime.handles.drop(handle)


def _update(executable: Executable, graph: Graph) -> int:
    old = executable.snapshot
    if list(old.nodes) != list(graph.nodes) or sorted(old.edges()) != sorted(graph.edges()):
        return _TOPOLOGY_CHANGED
    if any(node_type(old, number) != node_type(graph, number) for number in graph.nodes):
        return _TYPE_CHANGED
    executable.snapshot = graph.clone()
    executable.exec = GraphExec(graph)
    return _UPDATE_OK


@entry("cudaGraphExecUpdate", "cuGraphExecUpdate_v2")
def graph_exec_update(call: Call, handle: int, graph: int, result: int) -> None:
    """Take over the parameters of a graph of the same shape; error 910 when the shape differs."""
    outcome = _update(find_executable(call, handle), find_graph(call, graph))
    call.out_struct(result, "cudaGraphExecUpdateResultInfo", {"result": outcome})
    if outcome != _UPDATE_OK:
        raise CudaError(
            Error.GRAPH_EXEC_UPDATE_FAILURE, "the graphs differ in shape or in the types of their nodes"
        )


@entry("cudaGraphExecGetFlags", "cuGraphExecGetFlags")
def graph_exec_get_flags(call: Call, handle: int, pointer: int) -> None:
    """None of the flags changes anything in the model."""
    find_executable(call, handle)
    call.out(pointer, "Q", 0)


# User objects: destructors that the model never runs early


@entry("cudaUserObjectCreate", "cuUserObjectCreate")
def user_object_create(
    call: Call, pointer: int, _object: int, _destroy: int, _references: int, _flags: int
) -> None:
    """A handle; the object lives until the program ends."""
    call.out(pointer, "Q", call.runtime.handles.put(object()))


@entry("cudaUserObjectRetain", "cudaUserObjectRelease", "cuUserObjectRetain", "cuUserObjectRelease")
def user_object_count(_call: Call, _handle: int, _count: int) -> None:
    """References are not counted."""


@entry("cudaGraphRetainUserObject", "cuGraphRetainUserObject")
def graph_retain_user_object(_call: Call, _graph: int, _object: int, _count: int, _flags: int) -> None:
    """References are not counted."""


@entry("cudaGraphReleaseUserObject", "cuGraphReleaseUserObject")
def graph_release_user_object(_call: Call, _graph: int, _object: int, _count: int) -> None:
    """References are not counted."""
