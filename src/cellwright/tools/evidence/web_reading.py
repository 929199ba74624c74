"""What a reader may do on the web: search, and read a page, which then is a document like those of a folder."""

from __future__ import annotations

from typing import Annotated, Any, Final

from pydantic import Field

from cellwright.documents.document import DocumentKind, UnreadDocument
from cellwright.policy.actions import Action
from cellwright.tools.evidence.library import Library
from cellwright.tools.evidence.reader_tools import read_from
from cellwright.tools.evidence.web_search import WebSearch
from cellwright.tools.tool import Done, Tool, ToolError, ToolResult, tool
from cellwright.tools.web_tools import EgressFetch, page_action

_SECONDS: Final = 120.0
_KINDS: Final[dict[str, DocumentKind]] = {
    "text/html": "html",
    "application/xhtml+xml": "html",
    "application/pdf": "pdf",
    "text/markdown": "markdown",
    "text/plain": "text",
    "text/csv": "csv",
}


def web_reading_tools(library: Library, fetch: EgressFetch, search: WebSearch | None) -> list[Tool]:
    """Searching only where there is an engine."""

    def search_action(arguments: Any) -> Action | None:
        return None if search is None else search.action(arguments.query)

    @tool(action=search_action, seconds=_SECONDS)
    async def search_web(
        query: Annotated[str, Field(min_length=1, max_length=300)],
        k: Annotated[int, Field(ge=1, le=20)] = 8,
    ) -> ToolResult:
        """Search the web. You get addresses with a few words each; `read_page` reads one."""
        found = () if search is None else await search.find(query, k)
        if isinstance(found, ToolError):
            return found
        lines = [f"{hit.address}\n  {hit.title}\n  {hit.says}".rstrip() for hit in found]
        return Done(text="\n".join(lines) or "Nothing was found.", is_untrusted=True)

    def action(arguments: Any) -> Action:
        return page_action(arguments.url)

    @tool(action=action, needs="use-network", seconds=_SECONDS)
    async def read_page(
        url: Annotated[str, Field(max_length=2_000, description="https://… of a page or PDF.")],
    ) -> ToolResult:
        """Fetch a page; it becomes a document, which you quote from like any other."""
        page = await fetch.get(url)
        if isinstance(page, ToolError):
            return page
        kind = _KINDS.get(page.content_type.partition(";")[0].strip().lower())
        if page.status >= 400 or kind is None:
            said = f"status {page.status}" if page.status >= 400 else repr(page.content_type[:80])
            message = f"{page.address} answers with {said}, which is no document."
            return ToolError(kind="not-found", message=message, is_untrusted=True)
        added = await library.add_page(page.address, kind, page.content)
        if isinstance(added, UnreadDocument):
            return ToolError(kind="not-found", message=f"{page.address}: {added.why}.", is_untrusted=True)
        return read_from(library, added, 1, 0)

    return [*([search_web] if search is not None else []), read_page]
