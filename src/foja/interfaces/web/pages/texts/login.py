"""Texts of the login."""

from __future__ import annotations

from typing import Final

from foja.interfaces.web.pages.frame.language import Table

TEXTS: Final[Table] = {
    "login": ("Log in", "Iniciar sesión"),
    "key": ("Access key", "Clave de acceso"),
    "key_hint": (
        "An administrator gives you one, or makes it with `foja access create`.",
        "Se la da un administrador, o la crea con `foja access create`.",
    ),
    "provider": ("Log in with your organisation", "Iniciar sesión con su organización"),
    "logout": ("Log out", "Cerrar sesión"),
    "who": ("You are logged in as", "Ha iniciado sesión como"),
    "continue": ("Continue", "Continuar"),
    "refused": (
        "The login was refused. Check the key, or ask an administrator for one.",
        "Se rechazó el inicio de sesión. Revise la clave o pida una a un administrador.",
    ),
}
