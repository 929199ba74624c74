"""Editor: marimo's own editor for notebooks that are open here, on an origin of its own.

Owns:   marimo's server and session layer, who may enter and by which addresses, what is shown and what was typed.
Above:  server's daemon, which opens it.   Below: kernel, notebook.
Never:  a kernel of marimo's own, a file, a package or a terminal of the host, an answer to an approval.
"""

from cellwright.server.editor.gateway import Editor, open_editor

__all__ = ["Editor", "open_editor"]
