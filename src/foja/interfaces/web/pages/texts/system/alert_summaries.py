"""What is wrong when an alert fires. The English text is that of the table of alerts."""

from __future__ import annotations

from typing import Final

from foja.interfaces.web.pages.frame.language import Table
from foja.pure.models.alerts.table import ALERTS

SPANISH: Final = {
    "log_halted": "El registro está detenido: los eventos nuevos no obtienen prueba.",
    "log_lag": "Un evento espera demasiado a ser sellado, numerado o publicado.",
    "cosigner_policy": "A los puntos de control publicados les faltan los cofirmantes que exige la política.",
    "job_errors": "Demasiadas tareas del tipo {label} fallan.",
    "jobs_waiting": "Demasiadas tareas del tipo {label} esperan.",
    "job_age": "Una tarea del tipo {label} está lista y ningún proceso de trabajo la toma.",
    "worker_missing": "Hay tareas listas del tipo {label} y ningún proceso de trabajo hace ese tipo.",
    "jobs_past_lease": "Una tarea del tipo {label} perdió su proceso de trabajo y ningún otro la retomó.",
    "jobs_dead": "Una tarea del tipo {label} murió y su secuencia no lo dice.",
    "thumbnail_errors": "Demasiadas imágenes no tienen variantes porque su tarea falló.",
    "thumbnails_pending": "Demasiadas imágenes esperan sus variantes.",
    "thumbnail_attempts": "Fallan demasiados intentos de generar variantes.",
    "thumbnail_p95": "Generar las variantes de una imagen tarda demasiado (percentil 95 de un día).",
    "gallery_order": "Una galería tiene un hueco, un lugar duplicado o ninguna imagen principal.",
    "objects_missing": "El almacén no tiene un objeto al que algo se refiere.",
    "orphans_rescued_late": (
        "Un huérfano fue rescatado después de su plazo de gracia: una purga lo habría borrado."
    ),
    "orphan_false_positives": "Un objeto fue señalado como huérfano aunque algo se refería a él.",
    "orphan_scan_age": "La última revisión completa en busca de huérfanos es demasiado antigua.",
    "disk_space": "El disco de los datos está casi lleno.",
    "store_full": "El disco o bucket del almacén está lleno: no se puede guardar nada.",
    "timestamps_failing": "La autoridad de sellado {label} no da ningún sello válido.",
    "documents_given_up": "Se abandonó la evidencia de un documento: ningún intento sigue por sí solo.",
    "part_failing": "La parte {label} falla o está en pausa.",
    "webhook_failing": "El webhook {label} no recibe mensajes.",
    "health_stale": "No se sabe nada de la parte {label}: ningún proceso la ha probado en mucho tiempo.",
    "anchors_held": "No se envía a {label} ningún lote nuevo.",
    "anchor_pending": "Un lote en {label} ha usado la mitad de su tiempo sin confirmación.",
    "anchor_balance": "La cuenta en {label} alcanza para pocos lotes más.",
    "database_down": "La base de datos no responde: no se puede registrar nada.",
    "http_failures": "Fallaron demasiadas peticiones en un día (estado 500 o más).",
    "database_connections": "Al servidor de base de datos le quedan pocas conexiones.",
    "idle_in_transaction": (
        "Una sesión está inactiva con una transacción abierta: retiene bloqueos y filas antiguas."
    ),
    "transaction_age": "Autovacuum no da abasto: la base de datos se detiene antes de dos mil millones.",
    "metrics_failed": "No se pueden leer las métricas de la parte {label}: sus alertas no se evalúan.",
    "scrape_absent": "Prometheus no recibe métricas de Foja.",
}
TEXTS: Final[Table] = {name: (alert.summary, SPANISH[name]) for name, alert in ALERTS.items()}
