"""Texts of the page of access."""

from __future__ import annotations

from typing import Final

from foja.web.pages.frame.language import Table

TEXTS: Final[Table] = {
    "access": ("Access", "Acceso"),
    "access_lead": ("Who may do what.", "Quién puede hacer qué."),
    "you": ("You", "Usted"),
    "actor": ("Actor", "Actor"),
    "tenant": ("Tenant", "Inquilino"),
    "scopes": ("Scopes", "Permisos"),
    "installation": ("All tenants", "Todos los inquilinos"),
    "actor_hint": (
        "This name is recorded with everything that you do.",
        "Este nombre se registra con todo lo que usted hace.",
    ),
    "scope": ("Scope", "Permiso"),
    "allows": ("Allows", "Permite"),
    "have": ("You have it", "Lo tiene"),
    "read_allows": (
        "read events, documents, galleries and jobs",
        "leer eventos, documentos, galerías y tareas",
    ),
    "write_allows": ("append, add, protect, upload", "anexar, agregar, proteger, subir"),
    "approve_allows": ("decide approvals", "decidir aprobaciones"),
    "operate_allows": ("steer jobs and anchors, read metrics", "dirigir tareas y anclajes, leer métricas"),
    "cleanup_allows": ("look for orphans and stage them", "buscar huérfanos y señalarlos"),
    "purge_allows": ("delete orphans", "borrar huérfanos"),
    "retry_allows": ("start failed work again", "iniciar otra vez el trabajo fallido"),
    "admin_allows": ("everything, and access itself", "todo, y el acceso mismo"),
    "keys": ("Keys", "Claves"),
    "no_keys": (
        "There are no keys: only this machine is served, as administrator.",
        "No hay claves: solo se atiende a esta máquina, como administrador.",
    ),
    "key": ("Key", "Clave"),
    "name": ("Name", "Nombre"),
    "created": ("Created", "Creada"),
    "last_used": ("Last used", "Último uso"),
    "expires": ("expires {time}", "vence {time}"),
    "revoked": ("revoked", "revocada"),
    "expired": ("expired", "vencida"),
    "valid": ("valid", "válida"),
    "state": ("State", "Estado"),
    "revoke": ("Revoke", "Revocar"),
    "new_key": ("New key", "Clave nueva"),
    "make_key": ("Make a key", "Crear una clave"),
    "first_key": (
        "From the first key on, every request needs one. Give yourself a key with admin first.",
        "Desde la primera clave, cada solicitud necesita una. Cree primero una con admin para usted.",
    ),
    "made": (
        "This is the key. Copy it now: it is shown only once.",
        "Esta es la clave. Cópiela ahora: se muestra una sola vez.",
    ),
    "whole": (
        "Also what all tenants share: the log, job types, the store",
        "También lo que comparten todos los inquilinos: el registro, los tipos de tareas, el almacén",
    ),
    "sessions": ("Sessions", "Sesiones"),
    "no_sessions": ("Nobody is logged in.", "Nadie ha iniciado sesión."),
    "seen": ("Last seen", "Última actividad"),
    "end": ("End", "Terminar"),
    "webhooks": ("Webhooks", "Webhooks"),
    "no_webhooks": (
        "No webhooks. `foja webhooks create` makes one.",
        "No hay webhooks. `foja webhooks create` crea uno.",
    ),
    "address": ("Address", "Dirección"),
    "waiting": ("Waiting", "En espera"),
    "on": ("on", "activo"),
    "off": ("off", "inactivo"),
    "by": ("by", "por"),
}
