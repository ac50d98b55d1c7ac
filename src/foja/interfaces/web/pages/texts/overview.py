"""Texts of the overview."""

from __future__ import annotations

from typing import Final

from foja.interfaces.web.pages.frame.language import Table

REACH_AUTHORITY: Final = (
    "Look whether FOJA_TSA_URLS can be reached from here.",
    "Compruebe si se alcanza FOJA_TSA_URLS desde aquí.",
)
TEXTS: Final[Table] = {
    "overview": ("Overview", "Resumen"),
    "needs": ("What needs a person now", "Qué requiere a una persona ahora"),
    "needs_nothing": ("Nothing needs you now.", "Nada requiere su atención ahora."),
    "needs_nothing_hint": (
        "Work goes on by itself; what fails for good appears here.",
        "El trabajo sigue por sí solo; lo que falle definitivamente aparece aquí.",
    ),
    "need_alerts": ("Alerts that fire: {count}.", "Alertas activas: {count}."),
    "need_halted": ("The log is halted: {reason}.", "El registro está detenido: {reason}."),
    "need_dead": ("Jobs that failed for good: {count}.", "Tareas que fallaron definitivamente: {count}."),
    "need_documents": (
        "Documents whose evidence was given up: {count}.",
        "Documentos cuya evidencia se abandonó: {count}.",
    ),
    "need_approvals": (
        "Tools of agents that wait for a decision: {count}.",
        "Herramientas de agentes que esperan una decisión: {count}.",
    ),
    "need_workers": (
        "A job has waited for a worker for {span}. Does `foja worker` run?",
        "Una tarea espera desde hace {span} a que alguien la tome. ¿Está en marcha `foja worker`?",
    ),
    "need_paused": ("{type} is paused.", "{type} está en pausa."),
    "need_held": ("No batch is sent to {network} now.", "Ahora no se envía ningún lote a {network}."),
    "open": ("Open", "Abrir"),
    "volume": ("Jobs that ended, by hour (UTC)", "Tareas terminadas, por hora (UTC)"),
    "latency": (
        "Time to the end, 95 % of jobs (seconds)",
        "Tiempo hasta el final, 95 % de las tareas (segundos)",
    ),
    "as_table": ("As a table", "Como tabla"),
    "hour": ("Hour", "Hora"),
    "ended": ("Ended", "Terminadas"),
    "failed": ("Failed", "Fallidas"),
    "p95": ("95 % within", "95 % en"),
    "no_jobs": ("No job ended in the last 24 hours.", "Ninguna tarea terminó en las últimas 24 horas."),
    "health": ("Health", "Salud"),
    "part_database": ("Database", "Base de datos"),
    "part_schema": ("Schema", "Esquema"),
    "part_log": ("Log", "Registro"),
    "part_job": ("Job type", "Tipo de tarea"),
    "part_authority": ("Timestamp authority", "Autoridad de sellado"),
    "part_network": ("Network", "Red"),
    "part_store": ("Object store", "Almacén de objetos"),
    "part_redis": ("Redis", "Redis"),
    "part_decoder": ("Image decoder", "Decodificador de imágenes"),
    "part_webhooks": ("Delivery of webhooks", "Entrega de webhooks"),
    "part_mail": ("Mail server", "Servidor de correo"),
    "part_alert_webhook": ("Webhook of the alerts", "Webhook de las alertas"),
    "use_write": ("writing", "escritura"),
    "use_local": ("local, for tests", "local, para pruebas"),
    "job_types": ("Job types: {count}", "Tipos de tarea: {count}"),
    "state_works": ("works", "funciona"),
    "state_works_all": ("work", "funcionan"),
    "state_failing": ("fails", "falla"),
    "state_paused": ("paused", "en pausa"),
    "state_untried": ("not tried", "sin probar"),
    "checked": ("Checked {span} ago.", "Comprobado hace {span}."),
    "since": ("Since {at}.", "Desde el {at}."),
    "since_unknown": ("Since when is not known.", "No se sabe desde cuándo."),
    "not_tried": ("Not tried since {at}.", "Sin probar desde el {at}."),
    "never_tried": ("Never tried so far.", "Nunca probado hasta ahora."),
    "no_worker": (
        "No worker has taken its jobs since {at}.",
        "Ningún proceso de trabajo toma sus tareas desde el {at}.",
    ),
    "do_schema": (
        "`foja migrate --status` shows which step differs; `foja migrate` applies what is pending.",
        "`foja migrate --status` muestra qué paso difiere; `foja migrate` aplica lo pendiente.",
    ),
    "do_database": (
        "Start the server, or correct FOJA_DATABASE_URL.",
        "Arranque el servidor, o corrija FOJA_DATABASE_URL.",
    ),
    "do_database_frozen": (
        "It is frozen. Let it go on (`kill -CONT {process}`), or end it (`kill -9 {process}`).",
        "Está congelada. Reanúdela (`kill -CONT {process}`), o termínela (`kill -9 {process}`).",
    ),
    "do_log": ("`foja log` shows why.", "`foja log` muestra por qué."),
    "do_job": (
        "`foja jobs list --type {label}` and the log of the worker say more.",
        "`foja jobs list --type {label}` y el registro del proceso de trabajo dicen más.",
    ),
    "do_job_no_worker": (
        "Start `foja worker`, or the program with its handler.",
        "Arranque `foja worker`, o el programa que tiene su función.",
    ),
    "do_job_paused": ("`foja jobs resume {label}` lets it go on.", "`foja jobs resume {label}` la reanuda."),
    "do_authority": (
        "Its answer does not count: correct FOJA_TSA_URLS or FOJA_TSA_ROOTS.",
        "Su respuesta no vale: corrija FOJA_TSA_URLS o FOJA_TSA_ROOTS.",
    ),
    "do_authority_unreachable": REACH_AUTHORITY,
    "do_authority_hung": REACH_AUTHORITY,
    "do_authority_unavailable": REACH_AUTHORITY,
    "do_authority_http_status": (
        "It refuses: correct the path or the login in FOJA_TSA_URLS.",
        "Rechaza las peticiones: corrija la ruta o el acceso en FOJA_TSA_URLS.",
    ),
    "do_network": (
        "`foja anchors` and `foja doctor` say what is missing.",
        "`foja anchors` y `foja doctor` dicen qué falta.",
    ),
    "do_store": (
        "Look whether FOJA_STORAGE_URL can be reached and written.",
        "Compruebe si se puede alcanzar y escribir FOJA_STORAGE_URL.",
    ),
    "do_store_store_away": (
        "Mount its disk, or put its folder back: what is there now is not the store of this installation.",
        "Monte su disco, o reponga su carpeta: lo que hay allí no es el almacén de esta instalación.",
    ),
    "do_store_store_full": ("Free space there, or make it larger.", "Libere espacio allí, o amplíelo."),
    "do_redis": (
        "Start Redis, or correct FOJA_REDIS_URL; PostgreSQL numbers conversations meanwhile.",
        "Arranque Redis, o corrija FOJA_REDIS_URL; entretanto PostgreSQL numera las conversaciones.",
    ),
    "do_decoder": (
        "Raise FOJA_IMAGE_MEMORY_MB, or install foja[images] again.",
        "Suba FOJA_IMAGE_MEMORY_MB, o vuelva a instalar foja[images].",
    ),
    "do_webhooks": (
        "Several receivers fail and none takes a message: can this machine reach the network?",
        "Fallan varios receptores y ninguno recibe mensajes: ¿alcanza esta máquina la red?",
    ),
    "do_mail": (
        "Correct FOJA_SMTP_URL; `foja alerts test` sends a message.",
        "Corrija FOJA_SMTP_URL; `foja alerts test` envía un mensaje.",
    ),
    "do_alert_webhook": (
        "Correct FOJA_ALERT_WEBHOOK_URL, or its receiver; `foja alerts test` sends a message.",
        "Corrija FOJA_ALERT_WEBHOOK_URL, o su receptor; `foja alerts test` envía un mensaje.",
    ),
    "need_part": ("{part} has failed since {since}.", "{part} falla desde el {since}."),
    "criteria": ("Closing criteria of the images", "Criterios de cierre de las imágenes"),
    "criteria_lead": (
        "Each phase may be closed when its value is at most the threshold, and was measured.",
        "Cada fase se puede cerrar cuando su valor es a lo más el umbral y fue medido.",
    ),
    "phase": ("Phase", "Fase"),
    "criterion": ("Criterion", "Criterio"),
    "value": ("Value", "Valor"),
    "threshold": ("Threshold", "Umbral"),
    "result": ("Result", "Resultado"),
    "met": ("met", "cumplido"),
    "not_met": ("not met", "no cumplido"),
    "not_measured": ("not measured", "sin medir"),
    "phase_consistency": ("consistency", "consistencia"),
    "phase_observability": ("observability", "observabilidad"),
    "phase_hygiene": ("hygiene", "limpieza"),
    "phase_security": ("security", "seguridad"),
    "criterion_consistency": (
        "gaps, duplicates and galleries without a main image",
        "huecos, duplicados y galerías sin imagen principal",
    ),
    "criterion_observability": (
        "share of attempts that failed; jobs have durations",
        "proporción de intentos fallidos; las tareas tienen duración",
    ),
    "criterion_hygiene": (
        "false positives of seven days; a scan on each of them",
        "falsos positivos de siete días; una revisión en cada uno",
    ),
    "criterion_security": (
        "rights of anon and authenticated that go past row level security",
        "permisos de anon y authenticated que eluden la seguridad por filas",
    ),
}
