import { useEffect } from "react";

/** What the tab is called while this page is shown. */
export function usePageTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Cellwright`;
    return () => {
      document.title = "Cellwright";
    };
  }, [title]);
}
