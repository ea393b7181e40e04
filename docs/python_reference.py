"""Prints docs/reference/python-api.md from the signatures and docstrings of the installed package."""

import ast
import inspect
import re
import textwrap

import homing
import homing.compat.activeft
import homing.ray
import homing.sklearn
import homing.theory

MODULES = [homing, homing.ray, homing.theory, homing.sklearn, homing.compat.activeft]


def markdown(docstring):
    """Converts a docstring: roles become code, and examples and indented parts stay as they are."""
    text = re.sub(r":\w+:`~?([^`]+)`", r"`\1`", inspect.cleandoc(docstring or "")).replace("``", "`")
    text = re.sub(r"^(\w+)\n-+$", r"**\1**\n", text, flags=re.MULTILINE)
    out, is_example = [], False
    for line in text.splitlines():
        if line.startswith(">>>") and not is_example:
            out += ["```pycon"]
            is_example = True
        if is_example and not line:
            out += ["```"]
            is_example = False
        # A name alone on a line, with its meaning indented below, is an item of a list.
        named = re.fullmatch(r"(\w+(?:, \w+)*)", line)
        out.append(f"- `{line}`:" if named and not is_example else line)
    return "\n".join(out + ["```"] * is_example)


def signature(item):
    try:
        full = inspect.signature(item)
    except (TypeError, ValueError):
        return ""
    public = [parameter for parameter in full.parameters.values() if not parameter.name.startswith("_") and parameter.name != "self"]
    # Annotations are strings, which would be shown in quotes.
    return re.sub(r"(: |-> )'([^']*)'", r"\1\2", re.sub(r"ForwardRef\((.*?)\)", r"\1", str(full.replace(parameters=public))))


def fields(owner):
    """Yields the fields of a class that have a docstring below them."""
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(owner))).body
    for field, below in zip(tree.body, tree.body[1:]):
        is_text = isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
        if isinstance(field, ast.AnnAssign) and is_text:
            yield f"- `{field.target.id}`: {' '.join(below.value.value.split())}"


def public_members(owner):
    for name, member in vars(owner).items():
        if name.startswith("_"):
            continue
        if isinstance(member, (classmethod, staticmethod)):
            member = member.__func__
        if callable(member) or isinstance(member, property) or inspect.isdatadescriptor(member):
            yield name, member


def entries(module):
    for name in getattr(module, "__all__", sorted(vars(module))):
        item = getattr(module, name)
        if name.startswith("_") or inspect.ismodule(item) or not callable(item):
            continue
        is_typed_dict = hasattr(item, "__optional_keys__")
        yield f"### {module.__name__}.{name}"
        if not is_typed_dict:
            yield f"```py\n{name}{signature(item)}\n```"
        yield markdown(item.__doc__)
        if not inspect.isclass(item) or is_typed_dict:
            continue
        yield "\n".join(fields(item))
        for member_name, member in public_members(item):
            docstring = inspect.getdoc(member)
            if docstring and not docstring.startswith("Alias for field number"):
                call = signature(member) if callable(member) else ""
                yield f"#### `{name}.{member_name}{call}`"
                yield markdown(docstring)


def main():
    print("# Python reference")
    print("\nThis page is generated from the signatures and docstrings of the package. `docs/test` checks it against them.")
    for module in MODULES:
        print(f"\n## {module.__name__}\n")
        print(markdown(module.__doc__))
        for entry in entries(module):
            if entry:
                print(f"\n{entry}")


if __name__ == "__main__":
    main()
