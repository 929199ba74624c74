// Says which cell is being typed into, at once: marimo sends the text itself only when the typing pauses, and until
// then nobody's change of that cell may be put over it.
(() => {
  const every = 200;
  let last = "";
  let at = 0;
  let page = "";
  const Socket = window.WebSocket;
  window.WebSocket = class extends Socket {
    constructor(url, protocols) {
      super(url, protocols);
      const id = new URL(url, location.href).searchParams.get("session_id");
      if (id) page = id;
    }
  };
  document.addEventListener(
    "beforeinput",
    (event) => {
      const editor = event.target instanceof Element ? event.target.closest(".cm-content") : null;
      const cell = editor?.closest("[data-cell-id]")?.getAttribute("data-cell-id");
      const now = performance.now();
      if (!cell || !page || (cell === last && now - at < every)) return;
      last = cell;
      at = now;
      fetch("/cellwright/typing", {
        method: "POST",
        headers: { "content-type": "application/json", "Marimo-Session-Id": page },
        body: JSON.stringify({ cell }),
        keepalive: true,
      }).catch(() => undefined);
    },
    { capture: true },
  );
})();
