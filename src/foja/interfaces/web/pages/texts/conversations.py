"""Texts of the pages of conversations."""

from __future__ import annotations

from typing import Final

from foja.interfaces.web.pages.frame.language import Table

TEXTS: Final[Table] = {
    "title": ("Conversation", "Conversación"),
    "list": ("Conversations", "Conversaciones"),
    "list_lead": (
        "Every conversation is one ordered stream: nothing in it is lost, reordered or changed later.",
        "Cada conversación es una secuencia ordenada: nada se pierde, se reordena ni se cambia después.",
    ),
    "none": ("No conversations yet", "Todavía no hay conversaciones"),
    "none_hint": (
        "An agent or a program opens one; `foja chat` opens one in a terminal.",
        "La abre un agente o un programa; `foja chat` abre una en un terminal.",
    ),
    "older_list": ("Older conversations", "Conversaciones anteriores"),
    "empty": ("no messages yet", "todavía no hay mensajes"),
    "events": ("events", "eventos"),
    "only_last": (
        "Without JavaScript, only the last {count} events are shown.",
        "Sin JavaScript solo se muestran los últimos {count} eventos.",
    ),
    "protect": ("Protect", "Proteger"),
    "protect_hint": (
        "Adds the transcript as a document and requests a timestamp of it.",
        "Agrega la transcripción como documento y solicita un sello de tiempo.",
    ),
    "approve": ("Approve", "Aprobar"),
    "deny": ("Deny", "Denegar"),
    "reason": ("Reason (recorded)", "Motivo (se registra)"),
    "undecided": (
        "The decision was not recorded. Try again.",
        "La decisión no se registró. Inténtelo otra vez.",
    ),
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
