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
}
