# SPDX-License-Identifier: Apache-2.0
"""Every vector of ``crypt-vectors.json``: both ways, errors, and the forms that rows have."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from oslo_config import cfg

from openkeel_heat.common import config, exceptions
from openkeel_heat.db import crypt, maintenance, migrate, models, resources, session, user_creds

DATA: dict[str, Any] = json.loads((Path(__file__).parent / "data" / "crypt-vectors.json").read_text("utf-8"))
KEYS, TEXTS, VECTORS = DATA["keys"], DATA["plaintexts"], DATA["vectors"]
IV = bytes(range(16))

config.register_all(cfg.CONF)


def test_number_of_vectors() -> None:
    print(f"{len(VECTORS)} ciphertexts, {len(DATA['errors'])} errors, {len(DATA['encrypt_results'])} results")
    assert (len(VECTORS), len(DATA["errors"]), len(DATA["encrypt_results"])) == (190, 18, 10)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: f"{v['method']}-{v['key']}-{v['plaintext']}")
def test_decrypt(vector: dict[str, Any]) -> None:
    """Also those that Heat refuses: oslo_decrypt_v1 texts of length 15 modulo 16."""
    plain = TEXTS[vector["plaintext"]]
    assert crypt.decrypt(vector["method"], vector["ciphertext"], KEYS[vector["key"]]) == plain
    if vector.get("same_with_encryption_key_None"):
        assert crypt.decrypt(vector["method"], vector["ciphertext"]) == plain
    if vector["method"] == crypt.METHOD:
        method, token = crypt.encrypt(plain, KEYS[vector["key"]])
        assert (method, crypt.decrypt(method, token, KEYS[vector["key"]])) == (crypt.METHOD, plain)
    else:
        again = crypt.encrypt_legacy(vector["method"], plain, KEYS[vector["key"]], IV)
        assert again == vector["ciphertext"]


@pytest.mark.parametrize("result", DATA["encrypt_results"], ids=lambda r: r["plaintext"])
def test_encrypt(result: dict[str, Any]) -> None:
    plain = TEXTS[result["plaintext"]]
    method, token = crypt.encrypt(plain)
    assert method == result["method"]
    assert token is not None
    assert len(token) == result["length"]
    assert token.startswith(result["prefix"])
    assert crypt.decrypt(method, token) == plain


def _wrong(what: str) -> Any:
    """Does what the vector's words say."""
    fernet = next(v for v in VECTORS if v["method"] == crypt.METHOD and v["key"] == "default")["ciphertext"]
    other = KEYS["k32"]
    of = {(v["method"], v["plaintext"]): v["ciphertext"] for v in VECTORS if v["key"] == "default"}
    actions = {
        "fernet wrong key": lambda: crypt.decrypt(crypt.METHOD, fernet, other),
        "fernet truncated": lambda: crypt.decrypt(crypt.METHOD, fernet[:-8]),
        "fernet garbage": lambda: crypt.decrypt(crypt.METHOD, "garbage"),
        "oslo wrong key": lambda: crypt.decrypt("oslo_decrypt_v1", of["oslo_decrypt_v1", "ascii"], other),
        "heat_decrypt wrong key": lambda: crypt.decrypt("heat_decrypt", of["heat_decrypt", "long"], other),
        "unknown method": lambda: crypt.decrypt("no_such_method", "x"),
        "method empty string": lambda: crypt.decrypt("", "x"),
        "method None": lambda: crypt.decrypt(None, "x"),
        "data None": lambda: crypt.decrypt(crypt.METHOD, None),
        "encrypt None": lambda: list(crypt.encrypt(None)),
        "key of 8 characters": lambda: crypt.encrypt("x", "8" * 8),
        "key of 15 characters": lambda: crypt.encrypt("x", "8" * 15),
        "encrypted_dict None": lambda: crypt.encrypted_dict(None),
        "encrypted_dict empty": lambda: crypt.encrypted_dict({}),
        "decrypted_dict wrong key (heat_decrypt)": lambda: crypt.decrypted_dict(
            {"a": ["heat_decrypt", of["heat_decrypt", "long"]]}, other
        ),
        "encrypt of non-string 5": lambda: crypt.encrypt(5),  # type: ignore[arg-type]
    }
    return actions[what]()


@pytest.mark.parametrize("case", DATA["errors"], ids=lambda c: f"{c['what']}-{c.get('method', '')}")
def test_errors(case: dict[str, Any]) -> None:
    if "exception" not in case:
        assert _wrong(case["what"]) == case["result"]
        return
    with pytest.raises(Exception) as caught:
        if case["what"] == "key size not usable":
            text = next(v["ciphertext"] for v in VECTORS if v["method"] == case["method"])
            crypt.decrypt(case["method"], text, KEYS[case["key"]])
        else:
            _wrong(case["what"])
    kind = f"{type(caught.value).__module__}.{type(caught.value).__name__}"
    assert kind == case["exception"]["class"]
    if kind != "builtins.UnicodeDecodeError":  # which byte is wrong depends on the text
        assert str(caught.value) == case["exception"]["message"]


def test_encrypted_dict() -> None:
    given, key = DATA["encrypted_dict"]["input"], KEYS[DATA["encrypted_dict"]["key"]]
    stored = {name: value["method_and_token"] for name, value in DATA["encrypted_dict"]["values"].items()}
    assert crypt.decrypted_dict(stored, key) == given
    assert crypt.decrypted_dict(crypt.encrypted_dict(given, key), key) == given
    for name, (method, token) in crypt.encrypted_dict(given, key).items():
        assert crypt.decrypt(method, token, key) == DATA["encrypted_dict"]["values"][name]["json_text"]


# stored forms -----------------------------------------------------------------------------------------------------


@pytest.fixture
def database(tmp_path: Path) -> Iterator[None]:
    session.configure(connection=f"sqlite:///{tmp_path}/heat.sqlite")
    migrate.sync()
    yield
    session.dispose()


def _insert(table: str, row: dict[str, Any]) -> None:
    marks = ", ".join(f":{name}" for name in row)
    names = ", ".join(f'"{name}"' for name in row)
    from sqlalchemy import text

    with session.get_engine().begin() as c:
        c.execute(text(f"INSERT INTO {table} ({names}) VALUES ({marks})"), row)


FORMS = DATA["stored_forms"]


def test_stored_resource_data(database: None) -> None:
    for number, row in enumerate(FORMS["resource_data"]):
        values = {key: row[key] for key in ("key", "value", "redact", "decrypt_method")}
        _insert("resource_data", {"id": number, "resource_id": 7, **values})
    expected = {row["key"]: row.get("decrypted", row["value"]) for row in FORMS["resource_data"]}
    assert resources.get_data(7) == expected


def test_stored_credentials(database: None) -> None:
    for row in FORMS["user_creds"]["rows"]:
        _insert("user_creds", {**row, "created_at": "2026-01-01 00:00:00.000000"})
    assert user_creds.get(1).password == FORMS["user_creds"]["plain"]["row1.password"]  # type: ignore[union-attr]
    assert user_creds.get(2).trust_id == FORMS["user_creds"]["plain"]["row2.trust_id"]  # type: ignore[union-attr]


@pytest.mark.parametrize(("context", "row"), [("context_password", 0), ("context_trust", 1)])
def test_credentials_are_written_in_the_same_form(database: None, context: str, row: int) -> None:
    key = user_creds.insert(FORMS["user_creds"][context])
    with session.get_engine().connect() as c:
        written = dict(c.execute(models.user_creds.select()).mappings().one())
    expected = dict(FORMS["user_creds"]["rows"][row])
    for secret in ("password", "trust_id"):
        assert (written.pop(secret) is None) is (expected.pop(secret) is None)
    for volatile in ("id", "created_at"):
        written.pop(volatile), expected.pop(volatile)
    assert written == expected
    clear = user_creds.get(key)
    assert clear is not None
    for secret in ("password", "trust_id"):
        assert clear[secret] == FORMS["user_creds"][context][secret]


def test_stored_properties(database: None) -> None:
    _insert("resource", {"id": 1, "stack_id": "s", "rsrc_prop_data_id": 1, "name": "v"})
    form = FORMS["resource_properties_data_encrypted"][0]
    _insert("resource_properties_data", {"id": 1, "encrypted": 1, "data": json.dumps(form["data"])})
    expected = {name: json.loads(text) for name, text in form["decrypted_json_text"].items()}
    assert resources.get(1).stored_properties == expected  # type: ignore[union-attr]


@pytest.mark.parametrize("form", FORMS["resource_properties_data_clear"], ids=lambda f: f["data"])
def test_clear_properties_are_written_in_the_same_form(database: None, form: dict[str, Any]) -> None:
    from openkeel_heat.db import properties

    properties.insert(json.loads(form["data"]))
    with session.get_engine().connect() as c:
        row = c.exec_driver_sql("SELECT data, encrypted FROM resource_properties_data").one()
    assert tuple(row) == (form["data"], form["encrypted"])


def test_stored_environment() -> None:
    row = FORMS["raw_template_environment"]["rows"][0]
    environment = row["environment"]
    clear = maintenance.decrypt_environment(environment)
    assert clear is not None
    assert clear["encrypted_param_names"] == []
    assert clear["parameters"] == {**environment["parameters"], **row["decrypted"]}
    again = maintenance.encrypt_environment(clear, set(row["decrypted"]))
    assert again is not None
    assert sorted(again["encrypted_param_names"]) == sorted(environment["encrypted_param_names"])
    for name, text in row["decrypted"].items():
        assert crypt.decrypt(*again["parameters"][name]) == text


def test_length_limit_of_a_password() -> None:
    limit = DATA["user_creds_password_first_length_refused"]
    crypt.fits_column(crypt.encrypt("x" * (limit - 1))[1])
    with pytest.raises(exceptions.Error):
        crypt.fits_column(crypt.encrypt("x" * limit)[1])
