import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// The server that answers /api while the page itself comes from `npm run dev`.
const API = "http://127.0.0.1:8717";

export default defineConfig({
  plugins: [react()],
  base: "./",
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
