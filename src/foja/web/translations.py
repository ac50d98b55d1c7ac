"""The texts of the pages in each language, and the choice of a language."""

from __future__ import annotations

LANGUAGES = ("en", "es")
TEXTS = {
    "title": ("Conversation", "Conversación"),
    "list": ("Conversations", "Conversaciones"),
    "none": ("none yet", "todavía ninguna"),
    "reference": ("HTTP reference", "Referencia HTTP"),
    "intro": (
        "Every address, what it takes and what it answers. Errors are problem documents (RFC 9457).",
        "Cada dirección, lo que recibe y lo que responde. Los errores son documentos de problema (RFC 9457).",
    ),
    "parameters": ("parameters", "parámetros"),
    "body": ("body", "cuerpo"),
    "required": ("required", "obligatorio"),
    "older": ("older conversations", "conversaciones anteriores"),
    "empty": ("no messages yet", "todavía no hay mensajes"),
    "events": ("events", "eventos"),
    "approve": ("Approve", "Aprobar"),
    "deny": ("Deny", "Denegar"),
    "undecided": (
        "The decision was not recorded. Try again.",
        "La decisión no se registró. Inténtelo otra vez.",
    ),
    "connecting": ("connecting", "conectando"),
    "live": ("live", "en vivo"),
    "offline": ("offline, trying again", "sin conexión, reintentando"),
    "erased": ("(erased)", "(borrado)"),
    "until": ("until", "hasta"),
    "user_message_sent": ("user", "usuario"),
    "agent_message_sent": ("agent", "agente"),
    "message_chunk": ("agent", "agente"),
    "thinking": ("thinking", "pensando"),
    "thinking_chunk": ("thinking", "pensando"),
    "tool_use_requested": ("tool", "herramienta"),
    "tool_use_completed": ("result", "resultado"),
    "approval_requested": ("approval", "aprobación"),
    "approval_completed": ("decision", "decisión"),
    "turn_paused": ("paused", "en pausa"),
    "content_refused": ("refused", "rechazado"),
    "slot.open": ("reserved", "reservado"),
    "slot.voided": ("empty", "vacío"),
    "body.erased": ("erasure", "borrado"),
    "error": ("error", "error"),
    "state_pending": ("running", "en curso"),
    "state_completed": ("done", "hecho"),
    "state_failed": ("failed", "falló"),
    "state_denied": ("denied", "denegado"),
    "state_voided": ("voided", "anulado"),
    "state_unpaired": ("no request", "sin solicitud"),
    "state_requested": ("waiting", "en espera"),
    "state_approved": ("approved", "aprobado"),
    "state_expired": ("expired", "vencido"),
    "state_open": ("open", "abierto"),
    "state_erased": ("erased", "borrado"),
    "state_streaming": ("streaming", "recibiendo"),
    "state_error": ("error", "error"),
}
TRANSLATIONS = {
    language: {name: texts[at] for name, texts in TEXTS.items()} for at, language in enumerate(LANGUAGES)
}


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
