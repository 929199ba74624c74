import { useEffect, useRef } from "react";
import { Link, useLocation } from "wouter";

import { useHouse } from "./house";
import { Kbd, useKeys } from "./parts";
import { setTheme, useTheme } from "./theme";
import { openKeyHelp } from "./key-help";
import css from "./app.module.css";

const PLACES = [
  { path: "/", title: "New goal", keys: "g n" },
  { path: "/runs", title: "Runs", keys: "g r" },
  { path: "/connections", title: "Connections", keys: "g c" },
  { path: "/dashboards", title: "Dashboards", keys: "g d" },
  { path: "/settings", title: "Settings", keys: "g s" },
];

/** The bar at the top: where one can go, what waits, whether the server is there. */
export function Bar() {
  const [at, go] = useLocation();
  const waiting = useHouse((house) => house.questionsWaiting);
  const { isDark } = useTheme();
  const nav = useRef<HTMLElement>(null);
  useEffect(() => {
    // On a phone the places scroll.
    nav.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [at]);
  const toggleTheme = () => setTheme(isDark ? "light" : "dark");
  useKeys("Everywhere", [
    ...PLACES.map(({ path, title, keys }) => ({ keys, does: title, act: () => go(path) })),
    { keys: "t", does: "Light or dark", act: toggleTheme },
    { keys: "?", does: "All keys", act: openKeyHelp },
  ]);
  return (
    <>
      <header className={css.bar}>
        <Link href="/" className={css.brand} aria-label="Cellwright, start">
          <img src="./mark.svg" alt="" width="22" height="22" />
          <span>Cellwright</span>
        </Link>
        <nav ref={nav} className={css.nav} aria-label="Pages">
          {PLACES.map(({ path, title }) => (
            <Link key={path} href={path} className={css.place} aria-current={isAt(at, path) ? "page" : undefined}>
              {title}
              {path === "/runs" && waiting > 0 && (
                <span className={css.waiting}>
                  {waiting}
                  <span className="visually-hidden"> waiting for an answer</span>
                </span>
              )}
            </Link>
          ))}
        </nav>
        <button type="button" className={css.icon} onClick={toggleTheme} aria-label={isDark ? "Light" : "Dark"}>
          {isDark ? "☀" : "☾"}
        </button>
        <button type="button" className={css.icon} onClick={openKeyHelp} aria-label="All keys">
          <Kbd>?</Kbd>
        </button>
      </header>
      <Offline />
    </>
  );
}

function isAt(at: string, path: string): boolean {
  return path === "/" ? at === "/" : at === path || at.startsWith(`${path}/`);
}

function Offline() {
  const connection = useHouse((house) => house.connection);
  return (
    <div role="status" aria-live="polite" className={css.offlineSlot}>
      {connection === "offline" && (
        <div className={css.offline}>
          Cellwright does not answer. Runs go on without this page; it catches up as soon as the server is back.
        </div>
      )}
    </div>
  );
}
