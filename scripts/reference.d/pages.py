"""The text of the pages."""


def of(functions):
    """Returns the text of each page, by file name."""
    by_module = {}
    for function in functions:
        by_module.setdefault(function.module, []).append(function)
    pages = {f"{module}.md": _page(module, found) for module, found in by_module.items()}
    pages["README.md"] = _index(by_module)
    return pages


HEAD = "<!-- Written by scripts/reference from the comments in migrations. -->\n\n"


def _index(by_module):
    lines = [
        "# SQL functions\n",
        "What the servers of apps and tills call, by module. Pass arguments by name.\n",
        "A refusal of a rule is the column `reason`, or an error with SQLSTATE `RU001`, whose",
        "`DETAIL` is the reason. `RU002` means not ready yet: call again in a second. No driver",
        "takes these for a lost connection. `23505`: the id of the request is known with other",
        "content.\n",
        "| page | functions |", "| --- | --- |",
    ]
    for module, functions in sorted(by_module.items()):
        names = ", ".join(f"`{f.name}`" for f in functions)
        lines.append(f"| [{module}]({module}.md) | {names} |")
    return HEAD + "\n".join(lines) + "\n"


def _page(module, functions):
    guide = "[the guide](../guides/sql.md)" if module == "engine" else \
        f"[the module](../modules/{module}.md)"
    parts = [f"# SQL functions of {module}\n\nSee {guide} for what they are for.\n"]
    parts.append("\n".join(
        ["| function | |", "| --- | --- |"]
        + [f"| [`{f.name}`](#{_anchor(f)}) | {_cell(_first(f.comment.text))} |"
           for f in functions]) + "\n")
    parts += [_section(f) for f in functions]
    return HEAD + "\n".join(parts)


def _section(function):
    comment = function.comment
    entries = comment.entries
    lines = [f"## {function.title}\n", comment.text + "\n"]
    if function.arguments:
        lines += ["| argument | type | default | meaning |", "| --- | --- | --- | --- |"]
        lines += [
            f"| `{a['name']}` | `{_type(a['type'])}` | {_default(a['default'])} | "
            f"{_cell(entries.get('Arguments', {}).get(a['name'], ''))} |"
            for a in function.arguments]
        lines.append("")
    returned = entries.get("Returns", {})
    if function.columns:
        lines += [f"Returns {'rows' if function.is_set else 'one row'}:\n",
                  "| column | type | meaning |", "| --- | --- | --- |"]
        lines += [f"| `{c['name']}` | `{_type(c['type'])}` | {_cell(returned.get(c['name'], ''))} |"
                  for c in function.columns]
        lines.append("")
    elif returned:
        of = "rows of " if function.is_set else ""
        lines.append(f"Returns {of}`{_type(function.returns)}`: {'; '.join(returned.values())}.\n"
                     .replace("..\n", ".\n"))
    for heading, column in [("Reasons", "reason"), ("Errors", "SQLSTATE")]:
        if entries.get(heading):
            lines += [f"| {column} | meaning |", "| --- | --- |"]
            lines += [f"| `{name}` | {_cell(text)} |" for name, text in entries[heading].items()]
            lines.append("")
    lines.append(f"Repeated: {comment.repeated}\n")
    lines.append(f"Granted to {', '.join(f'`{role}`' for role in function.roles)}.\n")
    lines.append(f"```sql\n{comment.sample}\n```\n")
    return "\n".join(lines)


def _anchor(function):
    return function.title.replace(".", "").lower()


def _first(text):
    return text.split("\n\n")[0].replace("\n", " ").split(". ")[0].rstrip(".")


def _cell(text):
    return text.replace("|", "\\|")


def _default(text):
    if text is None:
        return "needed"
    return f"`{text.split('::')[0]}`" if text.count("::") == 1 and "(" not in text else f"`{text}`"


def _type(name):
    return name.replace("timestamp with time zone", "timestamptz") \
        .replace("time without time zone", "time")
