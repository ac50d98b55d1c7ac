"""What the pages are looked at with: documents, conversations, galleries and jobs in every state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from foja.app import App
from foja.engine.jobs.outcome import GiveUp, Job, Outcome
from foja.pure.core.registry import Domain, JobType, Kind
from tests.pictures import encoded, photo

ERRAND = Domain(
    "errand", [Kind("errand.asked", required={"what": "string"})], jobs=[JobType("run_errand", "run-errand")]
)
EVIL = "<script>window.evil = 1</script><img src=x onerror='window.evil = 2'>"


@dataclass(frozen=True, slots=True)
class Scene:
    """The ids of what was made."""

    document: UUID  # final
    waiting: UUID  # its timestamp is requested, and no worker runs
    conversation: UUID
    product: UUID


async def fill(app: App) -> Scene:
    """Make what every page shows, also texts that look like markup."""
    final = await app.documents.add(b"the contract", name="Contrato de alquiler, Lima.pdf", actor="ana")
    await final.protect(actor="ana")
    evil = await app.documents.add(b"evil", name=f"{EVIL}.pdf".replace("/", ""), actor=EVIL)
    await app.documents.add_digest("ab" * 32, name="only a digest.txt")
    conversation = await _talk(app)
    product = await _gallery(app)
    await _die(app)
    await app.work(until_idle=True)
    waiting = await app.documents.add(b"a letter", name="letter to the bank.txt", actor="ana")
    await waiting.protect(actor="ana")
    assert evil.new
    return Scene(final.id, waiting.id, conversation, product)


async def _talk(app: App) -> UUID:
    talk = await app.conversations.open()
    await talk.append("user_message_sent", {"content": "Where is my order 1207? Refund it if it is lost."})
    await talk.append("thinking", {"content": "I look it up and write to the carrier.", "turn": "t1"})
    slots = await talk.reserve(2, ttl=600)
    for ordinal, name in enumerate(("track_parcel", "read_policy")):
        request = {"tool_use_id": name, "tool_name": name, "tool_args": {"order": 1207}, "turn": "t1"}
        await talk.append("tool_use_requested", {**request, "result_seq": slots.seqs[ordinal]})
    for ordinal, name in ((1, "read_policy"), (0, "track_parcel")):
        done = {"tool_use_id": name, "tool_name": name, "tool_result": {"status": "lost"}, "success": True}
        await slots.fill(ordinal, "tool_use_completed", {**done, "error_message": None, "turn": "t1"})
    await talk.append("agent_message_sent", {"content": f"It is lost. {EVIL}", "turn": "t1"}, actor="support")
    await talk.request_approval("refund", {"order": 1207, "amount": 89.9}, ttl=36_000, approval_id="refund-1")
    other = await app.conversations.open()
    await other.append("user_message_sent", {"content": "Gracias, todo llegó bien."}, actor="luis")
    return talk.id


async def _gallery(app: App) -> UUID:
    gallery = await app.images.open()
    for seed, alt in enumerate(("A green bicycle", EVIL, None), start=1):
        data = encoded(photo(320, 240, seed))
        await gallery.add(data, alt=alt, name=f"photo-{seed}.jpg", actor="ana")
    return gallery.id


async def _die(app: App) -> None:
    """Let one job die with an error that looks like markup."""

    async def refuse(jobs: Sequence[Job]) -> Sequence[Outcome]:
        return [GiveUp(f"the service said {EVIL}") for _ in jobs]

    app.workers.add("run_errand", refuse)
    stream = await app.streams(ERRAND).open()
    await stream.append("errand.asked", {"what": "call the carrier"})
    await app.jobs.enqueue("run_errand", stream.id, key="once")
