"""A certificate for `localhost` that nobody trusts by himself, made for these tests alone."""

from __future__ import annotations

import ssl
from pathlib import Path

_CERTIFICATE = """-----BEGIN CERTIFICATE-----
MIIBnDCCAUGgAwIBAgIUYNZUHfrX6u9rlfconwWbnXeL66gwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTExODExMjE1NloYDzIxMjYxMDI1
MTEyMTU2WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAAREtEt2AclC0OIV9hwNl62apafp5/OUWlBzz9WGfD3HxDgTYP3m8jcP
iOuR78+SjY1ZodSYQ0xejqZJZPt3ipBjo28wbTAdBgNVHQ4EFgQUUwwXWlfFILjL
yIOhJbWSEJPVwRMwHwYDVR0jBBgwFoAUUwwXWlfFILjLyIOhJbWSEJPVwRMwDwYD
VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwCgYIKoZI
zj0EAwIDSQAwRgIhAJvoIK+pqVpYEO3B0xrkHrv7hgArAYbZfofeZrR2/XEIAiEA
2YNl2uXYTNZDk5Jlwl7/4tqpRjA2qZKCBd4/a77a+V8=
-----END CERTIFICATE-----
"""
# The other half. It guards nothing: whoever reads this file may be `localhost`, too.
_OTHER_HALF = (
    "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgUnJBQ+5k/tCiqVTX"
    "Ios2V9VYjYYZcqXZWyDI/M8GZ4KhRANCAAREtEt2AclC0OIV9hwNl62apafp5/OU"
    "WlBzz9WGfD3HxDgTYP3m8jcPiOuR78+SjY1ZodSYQ0xejqZJZPt3ipBj"
)


def server_tls(folder: Path) -> ssl.SSLContext:
    """For a server that shows the certificate."""
    label = "PRIVATE KEY"
    pem = folder / "localhost.pem"
    pem.write_text(f"-----BEGIN {label}-----\n{_OTHER_HALF}\n-----END {label}-----\n{_CERTIFICATE}")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    return context


def trusting_tls() -> ssl.SSLContext:
    """For a client that trusts this certificate and no other."""
    return ssl.create_default_context(cadata=_CERTIFICATE)
