import { useEffect, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

import { useTheme } from "../../theme";
import css from "./dashboards.module.css";

export interface Palette {
  ink: string;
  faint: string;
  line: string;
  accent: string;
  series: readonly string[];
}

export interface PlotProps {
  data: uPlot.AlignedData;
  /** Everything but the size; made again when the theme or `shape` changes. */
  options: (palette: Palette) => Omit<uPlot.Options, "width" | "height">;
  /** Says which series there are: the picture is drawn anew when it changes, and only filled again otherwise. */
  shape: string;
  height: number;
  /** Where the pointer is in the data; null: nowhere. */
  onPoint?: (at: number | null) => void;
}

/** A picture by uPlot in the page's colours, as wide as there is room. Its words are the panel's. */
export function Plot({ data, options, shape, height, onPoint }: PlotProps) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const now = useRef({ data, options, onPoint });
  now.current = { data, options, onPoint };
  const { isDark } = useTheme();
  useEffect(() => {
    const place = box.current;
    if (place === null) return;
    const hooks = { setCursor: [(self: uPlot) => now.current.onPoint?.(self.cursor.idx ?? null)] };
    const given = { legend: { show: false }, padding: [8, 8, 0, 0] satisfies uPlot.Padding, hooks, ...now.current.options(palette()), width: place.clientWidth, height };
    const drawn = new uPlot(given, now.current.data, place);
    plot.current = drawn;
    const watch = new ResizeObserver(() => place.clientWidth > 0 && drawn.setSize({ width: place.clientWidth, height }));
    watch.observe(place);
    return () => {
      watch.disconnect();
      drawn.destroy();
      plot.current = null;
    };
  }, [shape, height, isDark]);
  useEffect(() => plot.current?.setData(data), [data]);
  return <div ref={box} className={css.plot} style={{ minHeight: height }} aria-hidden="true" />;
}

function palette(): Palette {
  const style = getComputedStyle(document.documentElement);
  const read = (name: string) => style.getPropertyValue(name).trim();
  return {
    ink: read("--ink-soft"),
    faint: read("--ink-faint"),
    line: read("--line"),
    accent: read("--accent"),
    series: [1, 2, 3, 4, 5, 6].map((number) => read(`--series-${number}`)),
  };
}

/** Told apart without colour, too; the legend draws the same. */
export const DASHES: readonly number[][] = [[], [8, 4], [2, 3], [10, 3, 2, 3], [5, 5], [1, 4]];

export function axis(palette: Palette, more: Partial<uPlot.Axis> = {}): uPlot.Axis {
  return {
    stroke: palette.faint,
    font: "12px Inter, system-ui, sans-serif",
    grid: { stroke: palette.line, width: 1 },
    ticks: { show: false },
    size: 30,
    ...more,
  };
}
