# SPDX-License-Identifier: Apache-2.0
"""Encryption of what is secret at rest, in the three forms that Heat databases carry.

=========================== ======================================================================================
cryptography_decrypt_v1     Fernet; the form of everything that is written. A key of less than 32 characters counts
                            twice, 32 characters of it are used
oslo_decrypt_v1             AES-CBC, base64(IV + text), the padding's last byte does not count itself. Read only
heat_decrypt                AES-CFB, base64(IV + text). Read only
=========================== ======================================================================================

The name of the method travels with every ciphertext. Keys default to ``[DEFAULT] auth_encryption_key``.
"""

from __future__ import annotations

import base64
import importlib
import os
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from oslo_config import cfg

from openkeel_heat.common import exceptions
from openkeel_heat.common.i18n import _
from openkeel_heat.db.types import dumps, loads

if TYPE_CHECKING:  # a process that has no secret to read or write does not load the library
    from cryptography.fernet import Fernet

METHOD = "cryptography_decrypt_v1"
KEY_LENGTH = 32
_BLOCK = 16

#: The length from which on an encrypted text no longer fits a 255 character column.
COLUMN_LIMIT = 255


def get_valid_encryption_key(encryption_key: str | None, fix_length: bool = False) -> str:
    """The characters of a key that count; None means the configured key."""
    key: str = cfg.CONF.auth_encryption_key if encryption_key is None else encryption_key
    if fix_length and len(key) < KEY_LENGTH:
        key = key * 2
    return key[:KEY_LENGTH]


@lru_cache(16)
def _fernet(key: str) -> Fernet:
    from cryptography.fernet import Fernet

    return Fernet(base64.b64encode(key.encode()))


def encrypt(value: str | bytes | None, encryption_key: str | None = None) -> tuple[str | None, str | None]:
    """(method, ciphertext) of a text; (None, None) of None."""
    if value is None:
        return None, None
    if not isinstance(value, (str, bytes)):
        raise TypeError(f"{type(value)} can't be encoded")
    plain = value.encode() if isinstance(value, str) else value
    return METHOD, _fernet(get_valid_encryption_key(encryption_key, fix_length=True)).encrypt(plain).decode()


def decrypt(method: str | None, data: str | bytes | None, encryption_key: str | None = None) -> str | None:
    """The text behind a ciphertext; None if there is no method or no data."""
    if method is None or data is None:
        return None
    decryptor = _METHODS.get(method)
    if decryptor is None:
        raise AttributeError(f"module 'heat.common.crypt' has no attribute {method!r}")
    return decryptor(data, encryption_key).decode("utf-8")


def cryptography_decrypt_v1(value: str | bytes, encryption_key: str | None = None) -> bytes:
    from cryptography.fernet import InvalidToken

    token = value.encode() if isinstance(value, str) else value
    try:
        return _fernet(get_valid_encryption_key(encryption_key, fix_length=True)).decrypt(token)
    except InvalidToken:
        raise exceptions.InvalidEncryptionKey() from None


def _aes(key: str | None, mode: str, iv: bytes) -> Any:
    """The AES cipher of a key as it is, in mode CBC or CFB."""
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    where: Any = modes
    if not hasattr(modes, mode):  # later releases of cryptography keep the old ones elsewhere
        where = importlib.import_module("cryptography.hazmat.decrepit.ciphers.modes")
    return Cipher(algorithms.AES(get_valid_encryption_key(key).encode()), getattr(where, mode)(iv))


def oslo_decrypt_v1(value: str | bytes, encryption_key: str | None = None) -> bytes:
    message = base64.b64decode(value)
    decryptor = _aes(encryption_key, "CBC", message[:_BLOCK]).decryptor()
    padded: bytes = decryptor.update(message[_BLOCK:]) + decryptor.finalize()
    # the text, N zero bytes (0 to 15), then a byte of value N
    if not padded or padded[-1] >= _BLOCK or any(padded[-1 - padded[-1] : -1]):
        raise ValueError("Invalid padding bytes.")
    return padded[: len(padded) - padded[-1] - 1]


def heat_decrypt(value: str | bytes, encryption_key: str | None = None) -> bytes:
    message = base64.b64decode(value)
    decryptor = _aes(encryption_key, "CFB", message[:_BLOCK]).decryptor()
    plain: bytes = decryptor.update(message[_BLOCK:]) + decryptor.finalize()
    return plain


_METHODS: dict[str, Callable[[str | bytes, str | None], bytes]] = {
    METHOD: cryptography_decrypt_v1,
    "oslo_decrypt_v1": oslo_decrypt_v1,
    "heat_decrypt": heat_decrypt,
}


def encrypt_legacy(method: str, value: str, encryption_key: str | None = None, iv: bytes | None = None) -> str:
    """A ciphertext in one of the two read-only forms, as old releases wrote it (for migrations' tests)."""
    iv = os.urandom(_BLOCK) if iv is None else iv
    plain = value.encode()
    if method == "heat_decrypt":
        encryptor = _aes(encryption_key, "CFB", iv).encryptor()
    elif method == "oslo_decrypt_v1":
        zeros = _BLOCK - 1 - len(plain) % _BLOCK
        plain += bytes(zeros) + bytes([zeros])
        encryptor = _aes(encryption_key, "CBC", iv).encryptor()
    else:
        raise ValueError(method)
    return base64.b64encode(iv + encryptor.update(plain) + encryptor.finalize()).decode()


def encrypted_dict(data: Mapping[str, Any] | None, encryption_key: str | None = None) -> dict[str, Any]:
    """Each value as [method, ciphertext of its JSON text]."""
    return {name: encrypt(dumps(value), encryption_key) for name, value in (data or {}).items()}


def decrypted_dict(data: Mapping[str, Any] | None, encryption_key: str | None = None) -> dict[str, Any]:
    """The inverse of :func:`encrypted_dict`."""
    found = {}
    for name, (method, value) in (data or {}).items():
        try:
            found[name] = loads(decrypt(method, value, encryption_key))
        except UnicodeDecodeError:
            raise exceptions.InvalidEncryptionKey() from None
    return found


def fits_column(ciphertext: str | None) -> None:
    """``exceptions.Error`` for a ciphertext that is too long for a password column."""
    if len(str(ciphertext)) > COLUMN_LIMIT:
        raise exceptions.Error(_("Length of OS_PASSWORD after encryption exceeds Heat limit (255 chars)"))
