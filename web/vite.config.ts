import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// The server that answers /api while the page itself comes from `npm run dev`.
const API = "http://127.0.0.1:8717";

export default defineConfig({
  plugins: [react()],
  base: "./",
  // Of this repository: the page is the first user of the client that is made from the API's document.
  resolve: { alias: { "cellwright-client": new URL("../clients/typescript/src/index.ts", import.meta.url).pathname } },
  build: {
    outDir: "../src/cellwright/server/http/static",
    emptyOutDir: true,
    target: "es2023",
    // Nothing inlined: the page's policy allows scripts and fonts from its own origin only.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 400,
  },
  server: { host: "127.0.0.1", proxy: { "/api": API } },
});
