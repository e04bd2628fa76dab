"""Requests of a person, without a gate."""

from smart_context.base.values import OWNER
from smart_context.web.gate import gate
from smart_context.web.gate.door import AdmittedRequest


def asked_by(app, person=OWNER):
    """The application as the gate would hand it requests that this person makes."""

    async def asked(scope, receive, send):
        await app({**scope, gate._ADMITTED: AdmittedRequest(person=person)}, receive, send)

    return asked
