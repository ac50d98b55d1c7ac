"""A client of Foja's HTTP API, with the names of the in-process surface. It needs httpx and nothing else.

async with foja.client.connect("https://foja.example", key="foja_…") as client:
    conversation = await client.conversations.open()
    await conversation.append("user_message_sent", {"content": "hi"})
"""

from foja.extras import needs

with needs("foja.client", "client"):
    from foja.client.client import Client, connect

__all__ = ["Client", "connect"]
