"""The texts of the pages in each language, and the choice of a language."""

from __future__ import annotations

ENGLISH = {
    "title": "Conversation",
    "list": "Conversations",
    "none": "none yet",
    "connecting": "connecting",
    "live": "live",
    "offline": "offline, trying again",
    "erased": "(erased)",
    "until": "until",
    "user_message_sent": "user",
    "agent_message_sent": "agent",
    "message_chunk": "agent",
    "thinking": "thinking",
    "thinking_chunk": "thinking",
    "tool_use_requested": "tool",
    "tool_use_completed": "result",
    "approval_requested": "approval",
    "approval_completed": "decision",
    "turn_paused": "paused",
    "content_refused": "refused",
    "slot.open": "reserved",
    "slot.voided": "empty",
    "body.erased": "erasure",
    "error": "error",
    "state_pending": "running",
    "state_completed": "done",
    "state_failed": "failed",
    "state_denied": "denied",
    "state_voided": "voided",
    "state_unpaired": "no request",
    "state_requested": "waiting",
    "state_approved": "approved",
    "state_expired": "expired",
    "state_open": "open",
    "state_erased": "erased",
    "state_streaming": "streaming",
    "state_error": "error",
}
SPANISH = {
    "title": "Conversación",
    "list": "Conversaciones",
    "none": "todavía ninguna",
    "connecting": "conectando",
    "live": "en vivo",
    "offline": "sin conexión, reintentando",
    "erased": "(borrado)",
    "until": "hasta",
    "user_message_sent": "usuario",
    "agent_message_sent": "agente",
    "message_chunk": "agente",
    "thinking": "pensando",
    "thinking_chunk": "pensando",
    "tool_use_requested": "herramienta",
    "tool_use_completed": "resultado",
    "approval_requested": "aprobación",
    "approval_completed": "decisión",
    "turn_paused": "en pausa",
    "content_refused": "rechazado",
    "slot.open": "reservado",
    "slot.voided": "vacío",
    "body.erased": "borrado",
    "error": "error",
    "state_pending": "en curso",
    "state_completed": "hecho",
    "state_failed": "falló",
    "state_denied": "denegado",
    "state_voided": "anulado",
    "state_unpaired": "sin solicitud",
    "state_requested": "en espera",
    "state_approved": "aprobado",
    "state_expired": "vencido",
    "state_open": "abierto",
    "state_erased": "borrado",
    "state_streaming": "recibiendo",
    "state_error": "error",
}
TRANSLATIONS = {"en": ENGLISH, "es": SPANISH}


def choose_language(requested: str | None, accepted: str) -> str:
    """Return the requested language, or the best that the browser accepts, or English."""
    if requested in TRANSLATIONS:
        return requested
    ranked = sorted(map(_parse_preference, accepted.split(",")), key=lambda each: -each[1])
    return next((name for name, weight in ranked if name in TRANSLATIONS and weight > 0), "en")


def _parse_preference(text: str) -> tuple[str, float]:
    tag, _, weight = text.strip().partition(";q=")
    try:
        return tag.strip().lower()[:2], float(weight or 1)
    except ValueError:
        return tag.strip().lower()[:2], 0.0
