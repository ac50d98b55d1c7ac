"""The LangGraph checkpointer: LangGraph's conformance tests, and cases beyond them."""

from __future__ import annotations

import asyncio
import gc
import operator
from collections.abc import AsyncGenerator
from itertools import pairwise
from typing import Annotated, Any
from uuid import UUID

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.base import BaseCheckpointSaver, empty_checkpoint
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.conformance.capabilities import Capability
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, interrupt
from typing_extensions import TypedDict

from foja.app import App
from foja.domains.threads.service import Threads
from foja.errors import Refused
from foja.integrations.langgraph import LedgerSaver
from tests.cases import all_cases

pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning:langgraph", "ignore::PendingDeprecationWarning"
)


@pytest.mark.parametrize("group", [each.value for each in Capability])
async def test_it_passes_every_group_of_the_conformance_tests(app: App, group: str) -> None:
    @checkpointer_test(name="LedgerSaver")
    async def saver() -> AsyncGenerator[BaseCheckpointSaver[str], None]:
        yield LedgerSaver(app)

    report = await validate(saver, capabilities={group})
    result = report.results[group]
    assert result.detected
    assert result.failures == []
    assert result.tests_passed > 0


class State(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]
    steps: Annotated[int, operator.add]


def echo(state: State) -> dict[str, Any]:
    return {"messages": [AIMessage(f"you said {state['messages'][-1].content}")], "steps": 1}


def ask(state: State) -> dict[str, Any]:
    answer = interrupt("may I?")
    return {"messages": [AIMessage(f"you answered {answer}")], "steps": 1}


def graph_of(saver: LedgerSaver, *nodes: Any) -> Any:
    graph = StateGraph(State)
    names = [START, *(node.__name__ for node in nodes), END]
    for node in nodes:
        graph.add_node(node.__name__, node)
    for left, right in pairwise(names):
        graph.add_edge(left, right)
    return graph.compile(checkpointer=saver)


def thread(name: str, **more: Any) -> RunnableConfig:
    return {"configurable": {"thread_id": name, **more}}


async def say(graph: Any, name: str, text: str) -> list[str]:
    done = await graph.ainvoke({"messages": [HumanMessage(text)], "steps": 0}, thread(name))
    return [str(message.content) for message in done["messages"]]


async def stored_bytes(app: App, name: str) -> int:
    row = await app.database.of(app.ledger.tenant).row(
        "select sum(octet_length(payload::text)) from foja.event where entity_id = %(entity)s",
        entity=app.threads.stream_of(name),
    )
    assert row
    return int(row[0])


async def test_a_graph_continues_where_it_stopped(app: App) -> None:
    for text in ["a", "b"]:
        await say(graph_of(LedgerSaver(app), echo), "one", text)
    texts = await say(graph_of(LedgerSaver(app), echo), "one", "c")
    assert texts == ["a", "you said a", "b", "you said b", "c", "you said c"]
    state = await graph_of(LedgerSaver(app), echo).aget_state(thread("one"))
    assert state.values["steps"] == 3


async def test_history_and_time_travel(app: App) -> None:
    graph = graph_of(LedgerSaver(app), echo)
    await say(graph, "t", "a")
    await say(graph, "t", "b")
    past = [state async for state in graph.aget_state_history(thread("t"))]
    first = next(s for s in past if len(s.values.get("messages", [])) == 2 and not s.next)
    forked = await graph.ainvoke({"messages": [HumanMessage("z")], "steps": 0}, first.config)
    assert [m.content for m in forked["messages"]] == ["a", "you said a", "z", "you said z"]
    again = [state async for state in graph_of(LedgerSaver(app), echo).aget_state_history(thread("t"))]
    assert [s.values for s in again[-len(past) :]] == [s.values for s in past]
    assert (await graph.aget_state(thread("t"))).values == forked


async def test_an_interrupted_run_is_resumed_elsewhere(app: App) -> None:
    await graph_of(LedgerSaver(app), ask, echo).ainvoke(
        {"messages": [HumanMessage("a")], "steps": 0}, thread("i")
    )
    elsewhere = graph_of(LedgerSaver(app), ask, echo)
    assert (await elsewhere.aget_state(thread("i"))).next == ("ask",)
    done = await elsewhere.ainvoke(Command(resume="yes"), thread("i"))
    assert [m.content for m in done["messages"]] == ["a", "you answered yes", "you said you answered yes"]


async def test_storage_grows_linearly(app: App) -> None:
    graph = graph_of(LedgerSaver(app), echo)
    sizes = [0]
    for n in range(24):
        if n == 12:
            graph = graph_of(LedgerSaver(app), echo)  # a new process has nothing in memory
        await say(graph, "long", "x" * 1000)
        sizes.append(await stored_bytes(app, "long"))
    early, late = sizes[8] - sizes[4], sizes[24] - sizes[20]
    assert late < early * 1.3


async def test_a_message_changed_in_place_is_stored_as_it_is_now(app: App) -> None:
    def redact(state: State) -> dict[str, Any]:
        state["messages"][0].content = "███"
        return {"messages": [state["messages"][0]], "steps": 1}

    await graph_of(LedgerSaver(app), echo, redact).ainvoke(
        {"messages": [HumanMessage("secret", id="1")], "steps": 0}, thread("m")
    )
    state = await graph_of(LedgerSaver(app), echo, redact).aget_state(thread("m"))
    assert [m.content for m in state.values["messages"]] == ["███", "you said secret"]


VALUES: list[Any] = [
    None,
    "text",
    "nul \x00 in the middle",
    2**60,
    1.0,
    float("inf"),
    b"\x00\xff" * 50,
    {1, 2},
    {1: "a"},
    {"a": [1, {"b": None}]},
    [],
    [1.5, b"x", None, "y"],
    [[["deep"]]],
    "y" * 3_000_000,
    ["z" * 400_000] * 5,
    ["big", "w" * 2_000_000],
]


async def put(saver: LedgerSaver, config: RunnableConfig, version: int, **values: Any) -> RunnableConfig:
    versions: Any = dict.fromkeys(values, version)
    checkpoint: Any = {**empty_checkpoint(), "channel_values": values, "channel_versions": versions}
    return await saver.aput(config, checkpoint, {"source": "loop", "step": version}, versions)


@all_cases("value", VALUES, ids=lambda value: str(value)[:12])
async def test_any_value_is_returned_unchanged(app: App, value: Any) -> None:
    config = await put(LedgerSaver(app), thread("v", checkpoint_ns=""), 1, one=value, two="beside")
    await LedgerSaver(app).aput_writes(config, [("one", value)], "task")
    found = await LedgerSaver(app).aget_tuple(thread("v"))
    assert found
    assert found.checkpoint["channel_values"] == {"one": value, "two": "beside"}
    assert type(found.checkpoint["channel_values"]["one"]) is type(value)
    assert found.pending_writes == [("task", "one", value)]


async def test_lists_share_a_common_prefix(app: App) -> None:
    lists = [["a"], ["a", "b"], ["a", "b"], ["a", "c"], ["d"], ["d"] * 200, ["d"] * 201, [], ["e"]]
    config = thread("lists", checkpoint_ns="")
    saver = LedgerSaver(app)
    for version, items in enumerate(lists):
        if version % 3 == 2:
            saver = LedgerSaver(app)
        config = await put(saver, config, version, items=items)
    found = [
        each.checkpoint["channel_values"]["items"] async for each in LedgerSaver(app).alist(thread("lists"))
    ]
    assert found == lists[::-1]
    events = await app.ledger.events(app.threads.stream_of("lists"), None, 100)
    last = events[6].payload["values"]["items"]
    assert last == {"items": [{"json": "d"}], "keep": 200, "after": 5}


async def test_long_lists_are_compressed_and_may_change_anywhere(app: App) -> None:
    long: list[AnyMessage] = [HumanMessage(f"{n} é " * 300, id=f"m{n}") for n in range(40)]
    more: list[AnyMessage] = [AIMessage(f"{n} ñ " * 300, id=f"a{n}") for n in range(30)]
    lists = [long, [*long, *more], long[:35], [*long[:35], *more], [*long[:10], more[0]], []]
    config, saver = thread("long", checkpoint_ns=""), LedgerSaver(app)
    for version, items in enumerate(lists):
        saver = saver if version % 2 else LedgerSaver(app)
        config = await put(saver, config, version, items=items)
    listed = LedgerSaver(app).alist(thread("long"))
    assert [each.checkpoint["channel_values"]["items"] async for each in listed] == lists[::-1]
    events = await app.ledger.events(app.threads.stream_of("long"), None, 100)
    cells = [event.payload["values"].get("items", {}) for event in events]
    assert [len(cell.get("sizes", [])) for cell in cells] == [40, 30, 0, 30, 11, 0]
    assert [cell.get("keep") for cell in cells[:5]] == [None, 40, 35, 35, None]


async def test_the_garbage_collector_is_as_it_was_after_a_long_list(app: App) -> None:
    config = thread("gc", checkpoint_ns="")
    await put(LedgerSaver(app), config, 0, items=[HumanMessage("x", id=f"m{n}") for n in range(1_200)])
    for enabled in (True, False):
        (gc.enable if enabled else gc.disable)()
        try:
            found = await LedgerSaver(app).aget_tuple(thread("gc"))
            assert gc.isenabled() is enabled
        finally:
            gc.enable()
        assert found
        assert len(found.checkpoint["channel_values"]["items"]) == 1_200


async def test_a_list_that_always_changes_is_sometimes_stored_whole(app: App) -> None:
    saver, config = LedgerSaver(app), thread("churn", checkpoint_ns="")
    for version in range(200):
        config = await put(saver, config, version, items=["same", version])
    found = await LedgerSaver(app).aget_tuple(thread("churn"))
    assert found
    assert found.checkpoint["channel_values"]["items"] == ["same", 199]
    stored = saver._cache._last["churn", ""][1]["items"]
    assert stored.stored < 100


async def test_pruning_keeps_the_latest_whole_and_erases_the_rest(app: App) -> None:
    graph = graph_of(LedgerSaver(app), echo)
    for text in ["a", "b", "c"]:
        await say(graph, "p", text)
    before = (await graph.aget_state(thread("p"))).values
    await LedgerSaver(app).aprune(["p"])
    after = await graph_of(LedgerSaver(app), echo).aget_state(thread("p"))
    assert after.values == before
    assert len([1 async for _ in LedgerSaver(app).alist(thread("p"))]) == 1
    assert len(await say(graph, "p", "d")) == 8
    events = await app.ledger.events(app.threads.stream_of("p"), None, 1000)
    assert sum(event.payload is None for event in events) > 10


async def test_a_deleted_thread_can_begin_again(app: App) -> None:
    saver = LedgerSaver(app)
    config = await put(saver, thread("d", checkpoint_ns=""), 1, one="secret")
    await saver.aput_writes(config, [("one", "secret")], "task")
    await saver.adelete_thread("d")
    assert await saver.aget_tuple(thread("d")) is None
    row = await app.database.row(
        "select count(*) from foja.event where payload::text like %(text)s", text="%secret%"
    )
    assert row == (0,)
    await saver.aput_writes(config, [("one", "again")], "task")  # the same id as an erased one
    place = await put(saver, thread("d", checkpoint_ns=""), 1, one="new")
    found = await saver.aget_tuple(place)
    assert found
    assert found.checkpoint["channel_values"] == {"one": "new"}


async def test_the_first_write_of_a_task_wins_but_an_error_is_replaced(app: App) -> None:
    saver = LedgerSaver(app)
    config = await put(saver, thread("w", checkpoint_ns=""), 1)
    for value in ["first", "second"]:
        await saver.aput_writes(config, [("one", value)], "task", "~b")
        await saver.aput_writes(config, [("__error__", value)], "task", "~b")
    await saver.aput_writes(config, [("one", "x"), ("two", "y")], "other", "~a")
    found = await saver.aget_tuple(config)
    assert found
    assert found.pending_writes == [
        ("other", "one", "x"),
        ("other", "two", "y"),
        ("task", "__error__", "second"),
        ("task", "one", "first"),
    ]


async def test_the_history_of_delta_channels_equals_langgraphs_own(app: App) -> None:
    saver, config = LedgerSaver(app), thread("walk", checkpoint_ns="")
    for version in range(9):
        values = {"seeded": version} if version in {2, 5} else {}
        config = await put(saver, config, version, **values)
        for task in "ba":
            await saver.aput_writes(config, [("seeded", version), ("bare", task)], task, f"~{task}")
    found = await saver.aget_delta_channel_history(config=config, channels=["seeded", "bare", "none"])
    expected = await BaseCheckpointSaver.aget_delta_channel_history(
        saver, config=config, channels=["seeded", "bare", "none"]
    )
    assert found == expected
    assert found["seeded"].get("seed") == 5
    assert "seed" not in found["none"]


def joined(state: list[str] | None, writes: list[list[str]]) -> list[str]:
    return sum(writes, state or [])


async def test_a_delta_channel_is_stored_once_and_read_again(app: App) -> None:
    class Deltas(TypedDict):
        items: Annotated[
            list[str], DeltaChannel(lambda state, writes: sum(writes, state or []), snapshot_frequency=4)
        ]

    graph = StateGraph(Deltas)
    graph.add_node("more", lambda state: {"items": [f"{len(state['items'])}"]})
    graph.add_edge(START, "more")
    graph.add_edge("more", END)
    for n in range(9):
        compiled: Any = graph.compile(checkpointer=LedgerSaver(app))
        done = await compiled.ainvoke({"items": ["x"]}, thread("delta"))
        assert len(done["items"]) == 2 * (n + 1)
    saved = [each.payload for each in await app.threads.checkpoints(app.threads.stream_of("delta"), "")]
    seqs = {each["held"]["items"] for each in saved if "items" in each["held"]}
    assert len(seqs) >= 2
    snapshots = await app.threads.values(app.threads.stream_of("delta"), [("items", seq) for seq in seqs])
    assert all(each["snapshot"] for each in snapshots.values())
    with pytest.raises(NotImplementedError, match="DeltaChannel"):
        await LedgerSaver(app).aprune(["delta"])


async def test_other_threads_may_use_it_without_a_loop(app: App) -> None:
    saver = LedgerSaver(app)
    graph = graph_of(saver, echo)
    turn = {"messages": [HumanMessage("a")], "steps": 0}
    done = await asyncio.to_thread(graph.invoke, turn, thread("sync"))
    assert len(done["messages"]) == 2
    states = await asyncio.to_thread(lambda: list(graph.get_state_history(thread("sync"))))
    assert states[0].values == done
    await asyncio.to_thread(saver.delete_thread, "sync")
    assert await asyncio.to_thread(saver.get_tuple, thread("sync")) is None
    with pytest.raises(Refused, match="begins with an a"):
        saver.get_tuple(thread("sync"))


async def test_concurrent_runs_do_not_interfere(app: App) -> None:
    graphs = [graph_of(LedgerSaver(app), echo) for _ in range(4)]
    await asyncio.gather(*(say(graph, f"many-{n % 2}", str(n)) for n, graph in enumerate(graphs)))
    for n in range(2):
        state = await graphs[0].aget_state(thread(f"many-{n}"))
        assert len(state.values["messages"]) in {2, 4}


async def test_invalid_arguments_are_refused(app: App) -> None:
    saver = LedgerSaver(app)
    with pytest.raises(Refused, match="has no thread id"):
        await saver.aget_tuple({"configurable": {}})
    with pytest.raises(Refused, match="keep_latest or delete"):
        await saver.aprune(["x"], strategy="whatever")


async def test_a_history_of_deltas_is_read_in_few_queries(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    """Four queries, whatever the number of updates; no snapshot is read except the one that is needed."""

    class Deltas(TypedDict):
        messages: Annotated[
            list[AnyMessage],
            DeltaChannel(lambda state, writes: sum(writes, state or []), snapshot_frequency=10),
        ]

    graph = StateGraph(Deltas)
    graph.add_node("echo", lambda _: {"messages": [AIMessage("y" * 2_000 + "\x00\x1fñ😀")]})
    graph.add_edge(START, "echo")
    graph.add_edge("echo", END)
    compiled = graph.compile(checkpointer=LedgerSaver(app))
    for n in range(32):
        done = await compiled.ainvoke({"messages": [HumanMessage(str(n))]}, thread("delta"))
    queries: list[tuple[str, int]] = []
    rows = Threads._rows

    async def counted(
        threads: Threads, query: str, stream: UUID, *of: type[Any], **values: object
    ) -> list[Any]:
        found = await rows(threads, query, stream, *of, **values)
        queries.append((query, len(str(found))))
        return found

    monkeypatch.setattr(Threads, "_rows", counted)
    saver = LedgerSaver(app)
    found = await saver.aget_tuple(thread("delta"))
    assert found
    history = await saver.aget_delta_channel_history(config=found.config, channels=["messages"])
    sizes = dict(queries)
    assert sorted(sizes) == ["thread_checkpoints", "thread_latest", "thread_values", "thread_writes"]
    assert len(queries) == 4
    assert sizes["thread_checkpoints"] < 120 * 1_500, "a page of checkpoints has no snapshot"
    assert sizes["thread_writes"] < 30 * 4_000, "only the writes since the last snapshot"
    seed: Any = history["messages"]["seed"]
    written = [each for _, _, value in history["messages"]["writes"] for each in value]
    assert [each.content for each in [*seed.value, *written]] == [each.content for each in done["messages"]]
