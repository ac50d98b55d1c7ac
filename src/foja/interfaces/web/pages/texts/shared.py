"""Texts that several pages share."""

from __future__ import annotations

from typing import Final

from foja.interfaces.web.pages.frame.language import Table

TEXTS: Final[Table] = {
    "skip": ("Skip to the content", "Saltar al contenido"),
    "menu": ("Menu", "Menú"),
    "close": ("Close", "Cerrar"),
    "log_in": ("Log in", "Iniciar sesión"),
    "log_out": ("Log out", "Cerrar sesión"),
    "lang_en": ("English", "English"),
    "lang_es": ("Español", "Español"),
    "reference_link": ("HTTP reference", "Referencia HTTP"),
    "nav_work": ("Work", "Trabajo"),
    "nav_operations": ("Operations", "Operación"),
    "nav_overview": ("Overview", "Resumen"),
    "nav_documents": ("Documents", "Documentos"),
    "nav_conversations": ("Conversations", "Conversaciones"),
    "nav_galleries": ("Galleries", "Galerías"),
    "nav_verify": ("Verify", "Verificar"),
    "nav_jobs": ("Jobs", "Tareas"),
    "nav_anchors": ("Anchors", "Anclajes"),
    "nav_hygiene": ("Hygiene", "Limpieza"),
    "nav_ledger": ("Ledger", "Libro"),
    "nav_alerts": ("Alerts", "Alertas"),
    "nav_access": ("Access", "Acceso"),
    "error_401": ("Sign in first", "Inicie sesión primero"),
    "error_403": ("You may not do this", "No tiene permiso para esto"),
    "error_413": ("This is too large", "Esto es demasiado grande"),
    "error_404": ("This does not exist", "Esto no existe"),
    "error_database": (
        "The database does not answer now. Try again when it does.",
        "La base de datos no responde ahora. Inténtelo de nuevo cuando responda.",
    ),
    "error_503": ("Try again in a moment", "Inténtelo de nuevo en un momento"),
    "error_refused": ("This was refused", "Esto fue rechazado"),
    "error_500": ("The server failed", "El servidor falló"),
    "error_address": (
        "There is no page at this address. It may be misspelled, or what it showed was moved.",
        "No hay ninguna página en esta dirección. Puede estar mal escrita, o lo que mostraba se movió.",
    ),
    "error_status": ("HTTP status {code}", "Estado HTTP {code}"),
    "error_home": ("Go to the overview", "Ir al resumen"),
    "older": ("Older", "Anteriores"),
    "next": ("Next", "Siguientes"),
    "all": ("All", "Todos"),
    "filter": ("Filter", "Filtrar"),
    "search": ("Search", "Buscar"),
    "retry": ("Retry", "Reintentar"),
    "cancel": ("Cancel", "Cancelar"),
    "remove": ("Remove", "Quitar"),
    "save": ("Save", "Guardar"),
    "upload": ("Upload", "Subir"),
    "download": ("Download", "Descargar"),
    "at_most": ("Up to {most} each.", "Hasta {most} cada uno."),
    "too_large": (
        "Over the limit of {most}; nothing was sent:",
        "Por encima del límite de {most}; no se envió nada:",
    ),
    "upload_lost": (
        "The server did not answer. Nothing may have been saved: look at the list and try again.",
        "El servidor no respondió. Puede que nada se guardara: mire la lista e inténtelo de nuevo.",
    ),
    "yes": ("yes", "sí"),
    "no": ("no", "no"),
    "never": ("never", "nunca"),
    "unknown": ("unknown", "desconocido"),
    "computing": ("Being computed.", "Calculando."),
    "live": ("live", "en vivo"),
    "connecting": ("connecting", "conectando"),
    "server_gone": (
        "The server does not answer. What you see is of {time}.",
        "El servidor no responde. Lo que ve es de las {time}.",
    ),
    "page_old": (
        "This page cannot be renewed. What you see is of {time}.",
        "Esta página no se puede renovar. Lo que ve es de las {time}.",
    ),
    "offline": ("offline, trying again", "sin conexión, reintentando"),
}
