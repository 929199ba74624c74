/** Light, dark, or as the system says. Kept in this browser. */

import { create } from "zustand";

export type Theme = "system" | "light" | "dark";

const KEY = "cellwright.theme";
const systemIsDark = matchMedia("(prefers-color-scheme: dark)");

function kept(): Theme {
  const word = localStorage.getItem(KEY);
  return word === "light" || word === "dark" ? word : "system";
}

export const useTheme = create<{ theme: Theme; isDark: boolean }>(() => resolved(kept()));

function resolved(theme: Theme): { theme: Theme; isDark: boolean } {
  return { theme, isDark: theme === "dark" || (theme === "system" && systemIsDark.matches) };
}

export function setTheme(theme: Theme): void {
  if (theme === "system") localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, theme);
  applyTheme();
}

/** Once at the start, and whenever it changes. */
export function applyTheme(): void {
  const theme = kept();
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  useTheme.setState(resolved(theme));
}

systemIsDark.addEventListener("change", applyTheme);
