# SPDX-License-Identifier: Apache-2.0
"""What must hold in the database and in the cloud of files when nothing is in progress."""

from __future__ import annotations

import pathlib
from collections import Counter
from typing import Any

from tests.crash.random_templates import wanted_value
from tests.fixtures.checks import Database


class Checks:
    """What must hold when nothing is in progress."""

    def __init__(self, database: Database, cloud: pathlib.Path) -> None:
        self.database, self.cloud = database, cloud

    def rest(self) -> list[str]:
        """Unfinished work; what a deleted stack acted with goes after it is told to be gone, by recovery if need be."""
        return self.database.unrest() + [
            f"credentials of a deleted stack: {row}"
            for row in self.database.rows(
                "SELECT id FROM stack WHERE deleted_at IS NOT NULL AND user_creds_id IS NOT NULL"
            )
        ]

    def objects(self) -> list[str]:
        """Every object belongs to a row, every living row has its object, none was made twice."""
        there = {path.name: path.read_text() for path in (self.cloud / "objects").iterdir()}
        rows = self.database.rows(
            "SELECT r.name, r.nova_instance, r.action, r.status, s.name AS stack FROM resource r "
            "JOIN stack s ON s.id = r.stack_id"
        )
        wanted = {row["nova_instance"] for row in rows if row["nova_instance"]}
        wrong = [f"object {name} belongs to nobody" for name in there if name not in wanted]
        wrong += [
            f"{row['stack']}/{row['name']} is {row['action']}_{row['status']}, but its object is gone"
            for row in rows
            if row["name"] in ("a", "b", "c", "d", "inner", "outer") and row["status"] == "COMPLETE"
            and row["action"] not in ("INIT", "DELETE") and row["nova_instance"]
            and row["nova_instance"] not in there
        ]  # fmt: skip
        log = (self.cloud / "log").read_text().splitlines() if (self.cloud / "log").exists() else []
        counts = Counter(log)
        wrong += [f"{line}: {count} times" for line, count in counts.items() if count > 1]
        wrong += [line for line in counts if not line.startswith(("create ", "delete "))]
        return wrong

    def orphans(self) -> list[str]:
        """Rows that nothing refers to."""
        find = self.database.rows
        found = []
        queries = {
            "raw_template": "SELECT t.id FROM raw_template t WHERE NOT EXISTS (SELECT 1 FROM stack s WHERE "
            "s.raw_template_id = t.id OR s.prev_raw_template_id = t.id) AND NOT EXISTS "
            "(SELECT 1 FROM resource r WHERE r.current_template_id = t.id)",
            "raw_template_files": "SELECT f.id FROM raw_template_files f WHERE NOT EXISTS "
            "(SELECT 1 FROM raw_template t WHERE t.files_id = f.id)",
            "resource_properties_data": "SELECT p.id FROM resource_properties_data p WHERE NOT EXISTS "
            "(SELECT 1 FROM resource r WHERE r.rsrc_prop_data_id = p.id OR r.attr_data_id = p.id) AND NOT EXISTS "
            "(SELECT 1 FROM event e WHERE e.rsrc_prop_data_id = p.id)",
            "resource_data": "SELECT d.id FROM resource_data d WHERE NOT EXISTS "
            "(SELECT 1 FROM resource r WHERE r.id = d.resource_id)",
            "resource": "SELECT r.id, r.name FROM resource r WHERE NOT EXISTS "
            "(SELECT 1 FROM stack s WHERE s.id = r.stack_id AND s.deleted_at IS NULL)",
            "nested stack": "SELECT s.id, s.name FROM stack s JOIN stack p ON p.id = s.owner_id WHERE "
            "s.deleted_at IS NULL AND p.deleted_at IS NOT NULL",
            "nested stack of no resource": "SELECT s.id, s.name FROM stack s WHERE s.owner_id IS NOT NULL AND "
            "s.deleted_at IS NULL AND NOT EXISTS (SELECT 1 FROM resource r WHERE r.nova_instance = s.id)",
            "snapshot": "SELECT n.id FROM snapshot n WHERE NOT EXISTS "
            "(SELECT 1 FROM stack s WHERE s.id = n.stack_id AND s.deleted_at IS NULL)",
            "resource_snapshot": "SELECT n.id FROM resource_snapshot n WHERE NOT EXISTS "
            "(SELECT 1 FROM snapshot s WHERE s.id = n.snapshot_id)",
            # Those of an engine that died before it had stored their stack go after a day.
            "user_creds": "SELECT c.id FROM user_creds c WHERE EXISTS "
            "(SELECT 1 FROM stack s WHERE s.user_creds_id = c.id) AND NOT EXISTS "
            "(SELECT 1 FROM stack s WHERE s.user_creds_id = c.id AND s.deleted_at IS NULL)",
            "event": "SELECT e.id FROM event e WHERE NOT EXISTS (SELECT 1 FROM stack s WHERE s.id = e.stack_id)",
        }
        for what, query in queries.items():
            rows = find(query)
            if rows:
                found.append(f"orphans in {what}: {rows[:5]}")
        return found

    def duplicates(self) -> list[str]:
        """Two living stacks of one name; two events that say that one object was made."""
        wrong = [
            f"{row['n']} stacks named {row['name']}"
            for row in self.database.rows(
                "SELECT name, COUNT(*) AS n FROM stack WHERE deleted_at IS NULL GROUP BY name HAVING COUNT(*) > 1"
            )
        ]
        return wrong + [
            f"{row['name']}: {row['n']} events that {row['id']} was made"
            for row in self.database.rows(
                "SELECT e.resource_name AS name, e.physical_resource_id AS id, COUNT(*) AS n FROM event e "
                "JOIN stack s ON s.id = e.stack_id WHERE e.resource_action = 'CREATE' AND "
                "e.resource_status = 'COMPLETE' AND e.resource_name <> s.name AND e.physical_resource_id <> '' "
                "GROUP BY e.stack_id, e.resource_name, e.physical_resource_id HAVING COUNT(*) > 1"
            )
        ]

    def whole(self, stack_id: str, template: dict[str, Any]) -> list[str]:
        """The stack is as its template says: one row per resource, all COMPLETE, with the values wanted.

        What an engine died over before there was an object, and was replaced by the same update, goes with the next.
        """
        rows = self.database.rows(
            "SELECT name, action, status, status_reason, nova_instance FROM resource WHERE stack_id = :id AND NOT "
            "(replaced_by IS NOT NULL AND nova_instance IS NULL AND action = 'CREATE' AND status = 'FAILED')",
            id=stack_id,
        )
        names = Counter(row["name"] for row in rows)
        wrong = []
        if names != Counter(list(template["resources"])):
            wrong.append(f"rows {sorted(names.elements())}, wanted {sorted(template['resources'])}")
        wrong += [
            f"{row['name']} is {row['action']}_{row['status']}: {row['status_reason']}"
            for row in rows
            if row["status"] != "COMPLETE" or row["action"] in ("INIT", "DELETE")
        ]
        physical = {row["name"]: row["nova_instance"] for row in rows}
        for name, body in template["resources"].items():
            if body["type"] != "Test::Thing":
                continue
            path = self.cloud / "objects" / str(physical.get(name))
            wanted = wanted_value(template, name)
            if not path.exists():
                wrong.append(f"{name} has no object")
            elif wanted is not None and path.read_text() != wanted:
                wrong.append(f"{name} holds {path.read_text()!r}, wanted {wanted!r}")
        return wrong
