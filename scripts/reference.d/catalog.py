"""The functions that logins of apps and tills may call, from the database's catalog."""
import dataclasses
import json
import re

import comments

LOGINS = {"errand_app": "errand_shop", "errand_till": "errand_register"}

FUNCTIONS = """
    SELECT n.nspname AS module, p.proname AS name, d.description AS comment,
        p.proretset AS is_set, format_type(p.prorettype, NULL) AS returns,
        (SELECT json_agg(r.rolname ORDER BY r.rolname) FROM aclexplode(p.proacl) a
            JOIN pg_roles r ON r.oid = a.grantee
            WHERE r.rolname IN ('errand_app', 'errand_till')) AS roles,
        (SELECT json_agg(json_build_object('name', coalesce(p.proargnames[i], ''),
                'mode', coalesce(p.proargmodes[i]::text, 'i'),
                'type', format_type(t.type, NULL),
                'default', CASE WHEN coalesce(p.proargmodes[i]::text, 'i') IN ('i', 'b', 'v')
                    THEN pg_get_function_arg_default(p.oid, i::int) END) ORDER BY i)
            FROM unnest(coalesce(p.proallargtypes, p.proargtypes::oid[])) WITH ORDINALITY
                AS t (type, i)) AS columns,
        -- Of a function that returns a row of a named type.
        (SELECT json_agg(json_build_object('name', a.attname, 'mode', 't',
                'type', format_type(a.atttypid, a.atttypmod)) ORDER BY a.attnum)
            FROM pg_type y JOIN pg_attribute a ON a.attrelid = y.typrelid
            WHERE y.oid = p.prorettype AND y.typtype = 'c' AND a.attnum > 0
              AND NOT a.attisdropped) AS attributes
    FROM pg_proc p
    JOIN pg_namespace n ON n.oid = p.pronamespace
    LEFT JOIN pg_description d ON d.objoid = p.oid AND d.classoid = 'pg_proc'::regclass
    WHERE n.nspname IN (SELECT name FROM errand.modules UNION SELECT 'errand')
      AND EXISTS (SELECT FROM aclexplode(p.proacl) a JOIN pg_roles r ON r.oid = a.grantee
          WHERE r.rolname IN ('errand_app', 'errand_till'))
"""


@dataclasses.dataclass
class Function:
    """A function, and what its comment says."""
    module: str
    name: str
    roles: list
    arguments: list
    columns: list
    returns: str
    is_set: bool
    comment: comments.Comment
    place: tuple

    @property
    def title(self):
        """Its name with its schema."""
        return f"{self.module}.{self.name}"

    @property
    def login(self):
        """A login that may call it."""
        return LOGINS[self.roles[0]]


def functions(ground, migrations):
    """Returns the functions in the order of the files, and the faults of their comments."""
    places, found, faults = _places(migrations), [], []
    for row in map(json.loads, ground.rows(FUNCTIONS)):
        title = f"{row['module']}.{row['name']}"
        comment, wrong = comments.read(row["comment"] or "")
        if not row["comment"]:
            wrong = ["no COMMENT ON FUNCTION"]
        columns = row["columns"] or []
        function = Function(
            module="engine" if row["module"] == "errand" else row["module"], name=row["name"],
            roles=row["roles"], arguments=[c for c in columns if c["mode"] in "ibv"],
            columns=[c for c in columns if c["mode"] in "obt"] or row["attributes"] or [],
            returns=row["returns"],
            is_set=row["is_set"], comment=comment, place=places.get(title, ("", 0)))
        if row["comment"]:
            wrong += _lacking(function)
        faults += [f"{title}: {fault}" for fault in wrong]
        found.append(function)
    return sorted(found, key=lambda f: (f.module, f.place, f.name)), faults


def _lacking(function):
    """What a comment does not say of the arguments and columns, or says of none."""
    faults = []
    for heading, wanted in [("Arguments", function.arguments), ("Returns", function.columns)]:
        said = set(function.comment.entries.get(heading, {}))
        names = {c["name"] for c in wanted}
        if heading == "Returns" and not names:
            if len(said) != 1 and function.returns != "void":
                faults.append("Returns: expected one entry for the value")
            continue
        faults += [f"{heading}: nothing about {name}" for name in sorted(names - said)]
        faults += [f"{heading}: has no {name}" for name in sorted(said - names)]
    return faults


def _places(migrations):
    """Where each function is defined: file and line, by name."""
    places = {}
    for path in sorted(migrations.glob("*/routines/*.sql")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
            if found := re.match(r"CREATE OR REPLACE FUNCTION ([a-z_.]+)", line):
                places.setdefault(found[1], (path.name, number))
    return places
