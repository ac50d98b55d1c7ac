"""A module of a user with a domain of their own; tests also copy it into the folder of a process."""

import foja

INVOICE = foja.Domain(
    "invoice",
    kinds=[
        foja.Kind("invoice.issued", required={"total": "number"}),
        foja.Kind("invoice.sent", sources={"invoice-sender"}, required={"to": "string"}),
    ],
    jobs=[foja.JobType("send_invoice", source="invoice-sender", lease=0.5, max_tries=5)],
)
