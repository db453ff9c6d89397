"""Reads the forms that browsers send."""

from __future__ import annotations

from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import Response

from grader.web.desk.forms import Form
from grader.web.origins import is_foreign
from grader.web.safety import limited_body, plain


async def receive_form(request: Request) -> Form | Response:
    """Returns the form in *request*, or the answer that refuses it."""
    if is_foreign(request.headers):
        return plain("This form comes from another site.", 403)
    body = await limited_body(request)
    if body is None:
        return plain("This form is too large.", 413)
    return Form(parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True))
