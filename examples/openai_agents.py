"""An agent of the OpenAI Agents SDK that stores its session in a ledger.

    pip install 'foja[openai-agents]'
    python examples/openai_agents.py

The model is a stand-in that needs no network. Everything else is real: the SDK runs the tool,
the session is a conversation, and its history can be verified afterwards. In your own program
omit `model=` and the SDK uses OpenAI.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from agents import Agent, RunConfig, Runner, function_tool
from agents.items import ModelResponse
from agents.models.interface import Model
from agents.usage import Usage
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

import foja
from foja.integrations.openai_agents import LedgerSession


@function_tool
def weather(city: str) -> str:
    """Return the weather of a city."""
    return f"{city}: rain, 14 °C"


class StandIn(Model):
    """Requests the tool once per question, then repeats its result."""

    async def get_response(
        self,
        system_instructions: Any,
        input: Any,  # noqa: A002
        *args: Any,
        **more: Any,
    ) -> ModelResponse:
        last = input[-1]
        if last.get("type") == "function_call_output":
            return _answer(f"It looks like this. {last['output']}")
        return ModelResponse(
            output=[_call(str(len(input)), last["content"])], usage=Usage(), response_id=None
        )

    def stream_response(self, *args: Any, **more: Any) -> AsyncIterator[Any]:
        raise NotImplementedError("this stand-in does not stream")


def _call(number: str, city: str) -> ResponseFunctionToolCall:
    arguments = f'{{"city":"{city}"}}'
    return ResponseFunctionToolCall(
        type="function_call", call_id=f"call-{number}", name="weather", arguments=arguments
    )


def _answer(text: str) -> ModelResponse:
    part = ResponseOutputText(type="output_text", text=text, annotations=[], logprobs=[])
    message = ResponseOutputMessage(
        id="message", type="message", role="assistant", status="completed", content=[part]
    )
    return ModelResponse(output=[message], usage=Usage(), response_id=None)


async def main() -> None:
    """Ask twice in one session and show what the ledger stored."""
    agent = Agent(name="weather", model=StandIn(), tools=[weather])
    async with foja.connect() as app:
        session = LedgerSession("example", app)
        await session.clear_session()  # this example may have run before
        for city in ["Lima", "Oslo"]:
            result = await Runner.run(
                agent, city, session=session, run_config=RunConfig(tracing_disabled=True)
            )
            print(f"{city} → {result.final_output}")

        print(f"\nthe session holds {len(await session.get_items())} items; the last events are:")
        for event in (await session.conversation.events(limit=10_000))[-8:]:
            print(f"{event.seq:4}  {event.kind}")

        popped = await session.pop_item()
        assert popped
        last = (await session.conversation.events(limit=10_000))[-1]
        print(f"\npop_item erased the last answer; event {last.seq} ({last.kind}) records that.")


if __name__ == "__main__":
    asyncio.run(main())
