"""The description of the HTTP interface: answers, the OpenAPI document and a page for people."""
