"""Texts of the page of anchors."""

from __future__ import annotations

from typing import Final

from foja.engine.anchors.setup import Words
from foja.interfaces.web.pages.frame.language import Table

WORDS: Final = {"en": Words(), "es": Words("una de {names}", "{name} (con {more})", " o ")}
TEXTS: Final[Table] = {
    "anchors": ("Anchors", "Anclajes"),
    "anchors_lead": (
        "Digests of many documents in one transaction of a public network.",
        "Huellas de muchos documentos en una transacción de una red pública.",
    ),
    "networks": ("Networks", "Redes"),
    "enabled": ("enabled", "habilitada"),
    "disabled": ("disabled", "deshabilitada"),
    "unconfigured": ("not set up", "sin configurar"),
    "needs_settings": ("Set {names} to use it.", "Configure {names} para usarla."),
    "held": ("No batch is made: {reason}", "No se hace ningún lote: {reason}"),
    "waiting": ("waiting digests", "huellas en espera"),
    "pending": ("pending batches", "lotes pendientes"),
    "spent": ("spent in 24 hours", "gastado en 24 horas"),
    "balance": ("Balance", "Saldo"),
    "node_ready": ("can be used now", "se puede usar ahora"),
    "node_asked": ("The nodes are being asked.", "Se consulta a los nodos."),
    "enable": ("Enable", "Habilitar"),
    "disable": ("Disable", "Deshabilitar"),
    "flush": ("Send now", "Enviar ahora"),
    "batches": ("Batches", "Lotes"),
    "batch": ("Batch", "Lote"),
    "status": ("Status", "Estado"),
    "size": ("Digests", "Huellas"),
    "fee": ("Fee", "Costo"),
    "created": ("Created", "Creado"),
    "confirmed_at": ("Confirmed", "Confirmado"),
    "drafted": ("drafted", "preparado"),
    "sent": ("sent", "enviado"),
    "confirmed": ("confirmed", "confirmado"),
    "reorged": ("taken back by the network", "retirado por la red"),
    "refused": ("refused", "rechazado"),
    "no_batches": ("No batches yet", "Todavía no hay lotes"),
    "no_batches_hint": (
        "A batch is made when documents require a network that is enabled.",
        "Un lote se hace cuando los documentos requieren una red habilitada.",
    ),
    "costs": ("Cost by day", "Costo por día"),
    "day": ("Day", "Día"),
    "network": ("Network", "Red"),
    "open_fee": ("may still cost", "aún puede costar"),
    "no_costs": ("No cost in the last 30 days.", "Sin costo en los últimos 30 días."),
}
