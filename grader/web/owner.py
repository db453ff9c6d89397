"""The access of one person to an application on their own machine."""

from __future__ import annotations

import hmac
import secrets
from dataclasses import dataclass, field


@dataclass(slots=True)
class OwnerAccess:
    """A link with a token, and the sessions of the browsers that opened it. They end with the
    process."""

    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    _form_tokens: dict[str, str] = field(default_factory=dict)

    def enter(self, token: str) -> str | None:
        """Returns the id of a new session; None if *token* is not the link's."""
        if not hmac.compare_digest(self.token.encode(), token.encode()):
            return None
        id_ = secrets.token_urlsafe(32)
        self._form_tokens[id_] = secrets.token_urlsafe(32)
        return id_

    def form_token(self, id_: str | None) -> str | None:
        """Returns what every form of the session sends back; None if there is no such session."""
        return self._form_tokens.get(id_ or "")

    def accepts(self, form_token: str, sent: str) -> bool:
        """Returns whether a form that sent *sent* comes from a page with *form_token*."""
        return hmac.compare_digest(form_token.encode(), sent.encode())
