"""IPython's own syntax as Python: magics, shell lines, help. What has no equivalent is left out and named."""

from __future__ import annotations

import ast
import builtins
import re
import shlex
from dataclasses import dataclass, field
from typing import Final

_LINE_MAGIC: Final = re.compile(
    r"^(?P<indent>\s*)(?:(?P<target>[\w.,\s\[\]'\"]+?)\s*=\s*)?%(?P<name>\w+)(?:\s+(?P<rest>.*))?$"
)
_SHELL: Final = re.compile(r"^(?P<indent>\s*)(?:(?P<target>[\w.,\s]+?)\s*=\s*)?!(?P<twice>!?)(?P<rest>.+)$")
_HELP: Final = re.compile(r"^\s*(?:\?{1,2}[\w.*]+|[\w.\[\]'\"()]+\?{1,2})\s*$")
_PIP: Final = re.compile(
    r"^\s*[!%]?\s*(?:\S*python\S*\s+-m\s+|\{?sys\.executable\}?\s+-m\s+|uv\s+)?(?:pip3?|conda|mamba)\s+install\b(?P<rest>.*)$"
)
_BUILT_IN: Final = frozenset(dir(builtins))
_NOTHING: Final = {
    "matplotlib": "marimo shows figures by itself",
    "config": "it set up IPython",
    "load_ext": "it loaded an extension of IPython",
    "reload_ext": "it loaded an extension of IPython",
    "autoreload": "marimo has a reloader of its own",
    "autosave": "it set up Jupyter",
    "who": "it listed variables", "whos": "it listed variables", "who_ls": "it listed variables",
    "history": "it showed IPython's history", "hist": "it showed IPython's history",
    "precision": "it set how IPython prints numbers",
    "xmode": "it set up IPython", "colors": "it set up IPython", "pdb": "it set up IPython",
    "timeit": "it timed a statement and kept nothing",
    "prun": "it profiled a statement", "lprun": "it profiled a statement", "memit": "it measured memory",
    "lsmagic": "it listed magics", "pinfo": "it showed help", "pdoc": "it showed help", "psource": "it showed help",
}  # fmt: skip
_WHOLE_CELL: Final = {
    "capture",
    "time",
    "bash",
    "sh",
    "writefile",
    "html",
    "HTML",
    "markdown",
    "latex",
    "timeit",
    "prun",
}
_FLAGS_WITH_VALUE: Final = {
    "-r",
    "-c",
    "-i",
    "--index-url",
    "--extra-index-url",
    "-f",
    "--find-links",
    "-e",
    "-t",
    "--channel",
    "-n",
}


@dataclass(slots=True, kw_only=True)
class MendedSource:
    """A cell in plain Python."""

    code: str
    notes: list[str] = field(default_factory=list[str])
    refused: list[str] = field(default_factory=list[str])
    requirements: list[str] = field(default_factory=list[str])
    needs_subprocess: bool = False
    needs_os: bool = False


def mend_magics(source: str, names: frozenset[str]) -> MendedSource:
    """The source without anything that only IPython understands; `names` are variables a shell line may speak of."""
    first, _, body = source.lstrip("\n").partition("\n")
    if first.startswith("%%"):
        return _whole_cell(first, body, names)
    mended = MendedSource(code="")
    if not _has_magic(source):
        mended.code = source
        return mended
    # Lines inside brackets and texts are Python's own, also those that begin with a percent sign.
    own = _lines_of_python(source)
    lines = source.split("\n")
    out, at = list[str](), 0
    while at < len(lines):
        line = lines[at]
        while line.rstrip().endswith("\\") and re.match(r"\s*[!%]", line) and at + 1 < len(lines):
            at += 1
            line = line.rstrip()[:-1] + lines[at]
        out.append(line if own[at] else _line(line, mended, names))
        at += 1
    mended.code = "\n".join(out)
    return _with_imports(mended)


def _has_magic(source: str) -> bool:
    return any(pattern.match(line) for line in source.split("\n") for pattern in (_LINE_MAGIC, _SHELL, _HELP, _PIP))


def _lines_of_python(source: str) -> list[bool]:
    """For each line, whether it lies inside a bracket or a text that began on a line before."""
    inside, depth, quote = list[bool](), 0, ""
    for line in source.split("\n"):
        inside.append(depth > 0 or bool(quote))
        if not inside[-1] and (re.match(r"\s*[!%]", line) or _SHELL.match(line)):
            continue
        depth, quote = _scan(line, depth, quote)
    return inside


def _scan(line: str, depth: int, quote: str) -> tuple[int, str]:
    at = 0
    while at < len(line):
        if quote:
            if line[at] == "\\":
                at += 1
            elif line.startswith(quote, at):
                at += len(quote) - 1
                quote = ""
        elif line[at] == "#":
            break
        elif line[at] in "\"'":
            quote = line[at] * 3 if line.startswith(line[at] * 3, at) else line[at]
            at += len(quote) - 1
        elif line[at] in "([{":
            depth += 1
        elif line[at] in ")]}":
            depth = max(0, depth - 1)
        at += 1
    return depth, quote if len(quote) == 3 else ""


def without_installs(source: str) -> str:
    """The source without its pip lines: what they install is there, or is to be had by nobody in a cage."""
    return "\n".join(_comment(line) if _PIP.match(line) else line for line in source.split("\n"))


def _line(line: str, mended: MendedSource, names: frozenset[str]) -> str:
    if found := _PIP.match(line):
        return _pip(line, found["rest"], mended)
    if _is_python(line):
        return line
    if found := _SHELL.match(line):
        mended.needs_subprocess = True
        return _shell(found, mended, names)
    if found := _LINE_MAGIC.match(line):
        return _line_magic(line, found, mended, names)
    if _HELP.match(line):
        mended.notes.append(f"`{line.strip()[:60]}` showed help")
        return _comment(line)
    return line


def _is_python(line: str) -> bool:
    try:
        ast.parse(line.strip())
    except (SyntaxError, ValueError):
        return False
    return True


def _comment(line: str) -> str:
    bare = line.lstrip()
    return f"{line[: len(line) - len(bare)]}pass  # {bare}" if line != bare else f"# {bare}"


def _pip(line: str, rest: str, mended: MendedSource) -> str:
    try:
        words = shlex.split(rest, comments=True)
    except ValueError:
        words = rest.split()
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word in _FLAGS_WITH_VALUE:
            skip = True
            mended.refused.append(f"`{word}` of a pip line is not carried over")
        elif re.match(r"^[A-Za-z0-9][\w.-]*(\[[\w,.-]+\])?\s*([<>=!~]=?.*)?$", word):
            mended.requirements.append(re.sub(r"(?<![<>=!~])=(?!=)", "==", word))
        elif not word.startswith("-") and word not in {";", "&&", "|", ">", "/dev/null"}:
            mended.refused.append(f"`{word[:80]}` is not a package of an index")
    mended.notes.append("what it installs stands in the notebook's header")
    return _comment(line)


def _shell(found: re.Match[str], mended: MendedSource, names: frozenset[str]) -> str:
    command = _shell_text(found["rest"].strip(), names)
    run = f"subprocess.run({command}, shell=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout"
    mended.notes.append("a shell line runs by `subprocess` with `shell=True`")
    if found["target"]:
        return f"{found['indent']}{found['target']} = {run}.splitlines()"
    if found["twice"]:
        return f"{found['indent']}{run}.splitlines()"
    return f'{found["indent"]}print({run}, end="")'


def _shell_text(command: str, names: frozenset[str]) -> str:
    """The command as a Python text, with `{…}` and `$name` filled in where they name a variable, as IPython does."""
    parts, at, is_filled = list[str](), 0, False
    for found in re.finditer(r"\{([^{}]+)\}|\$(\w+)", command):
        expression = found[1] or found[2]
        if not _speaks_of(expression, names):
            continue
        is_filled = True
        parts += [_escaped(command[at : found.start()]), "{" + expression.strip() + "}"]
        at = found.end()
    if not is_filled:
        return repr(command)
    text = "".join(parts) + _escaped(command[at:])
    quote = next((mark for mark in ('"', "'", '"""') if mark not in text), None)
    return f"f{quote}{text}{quote}" if quote else repr(command)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("{", "{{").replace("}", "}}")


def _speaks_of(expression: str, names: frozenset[str]) -> bool:
    try:
        tree = ast.parse(expression.strip(), mode="eval")
    except (SyntaxError, ValueError):
        return False
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return bool(used & names) and used <= names | _BUILT_IN


def _line_magic(line: str, found: re.Match[str], mended: MendedSource, names: frozenset[str]) -> str:
    name, rest, indent = found["name"], (found["rest"] or "").strip(), found["indent"]
    if found["target"]:
        if name in {"pwd", "cd"} and not rest:
            mended.needs_os = True
            return f"{indent}{found['target']} = os.getcwd()"
        if name in {"sx", "system"}:
            mended.needs_subprocess = True
            shell = _SHELL.match(f"{indent}{found['target']} = !{rest}")
            return _shell(shell, mended, names) if shell else _comment(line)
    elif name in _NOTHING:
        mended.notes.append(f"`%{name}` is left out: {_NOTHING[name]}")
        return _comment(line)
    elif name == "time" and rest:
        mended.notes.append("`%time` is left out, its statement stays")
        return indent + rest
    elif name in {"sx", "system"}:
        mended.needs_subprocess = True
        shell = _SHELL.match(f"{indent}!{rest}")
        return _shell(shell, mended, names) if shell else _comment(line)
    elif name == "cd" and rest:
        mended.needs_os = True
        return f"{indent}os.chdir({rest!r})\n{indent}print(os.getcwd())"
    elif name == "pwd":
        mended.needs_os = True
        return f"{indent}os.getcwd()"
    elif name in {"env", "set_env"} and (given := re.match(r"^(\w+)[=\s]\s*(.*)$", rest)):
        mended.needs_os = True
        setting = f"{indent}os.environ[{given[1]!r}] = {given[2]!r}"
        return f"{setting}\n{indent}print({f'env: {given[1]}={given[2]}'!r})"
    mended.refused.append(f"`%{name}` has no equivalent")
    return _comment(line)


def _whole_cell(first: str, body: str, names: frozenset[str]) -> MendedSource:
    name, _, rest = first[2:].strip().partition(" ")
    mended = MendedSource(code="")
    if name in {"time", "capture"}:
        mended = mend_magics(body, names)
        mended.notes.append(f"`%%{name}` is left out, its cell stays")
        if name == "capture":
            mended.refused.append("`%%capture` kept the cell's output from being shown")
    elif name in {"bash", "sh"}:
        mended.needs_subprocess = True
        shell = "bash" if name == "bash" else "sh"
        run = f'subprocess.run(["{shell}", "-c", {_block(body)}], text=True, stdout=subprocess.PIPE).stdout'
        mended.code = f'print({run}, end="")'
        mended.notes.append(f"`%%{name}` runs by `subprocess`")
    elif name == "writefile" and rest and not rest.startswith("-"):
        mended.code = (
            f"from pathlib import Path\n\nPath({rest.strip()!r}).write_text({_block(body)})\n"
            f"print({'Writing ' + rest.strip()!r})"
        )
        mended.notes.append("`%%writefile` writes by `Path.write_text`")
    elif name in {"html", "HTML"}:
        mended.code = f"mo.Html({_block(body)})"
    elif name in {"markdown", "latex"}:
        mended.code = f"mo.md({_block(body)})"
    else:
        mended.code = "\n".join(f"# {line}".rstrip() for line in (first, *body.split("\n")))
        reason = "it timed its cell and kept nothing" if name in {"timeit", "prun"} else ""
        if reason:
            mended.notes.append(f"`%%{name}` is left out: {reason}")
        else:
            mended.refused.append(f"`%%{name}` has no equivalent; its cell stands as a comment")
    return _with_imports(mended)


def _block(text: str) -> str:
    if '"""' in text or "\\" in text or text.endswith('"'):
        return repr(text)
    return f'"""{text}"""'


def _with_imports(mended: MendedSource) -> MendedSource:
    for name, is_needed in (("subprocess", mended.needs_subprocess), ("os", mended.needs_os)):
        if is_needed and not re.search(rf"(?m)^\s*import {name}\b", mended.code):
            mended.code = f"import {name}\n\n{mended.code}"
    return mended
