/** What kernels have used in the last minutes, as this page saw it. Pure. */

import type { Kernels } from "../../api/types";

export const WINDOW_SECONDS = 300;

export interface Sample {
  readonly memory_mb: number;
  /** Share of one core since the sample before; null where there is none. */
  readonly cpu: number | null;
  readonly cpu_seconds: number;
}

export interface History {
  /** When, in seconds since 1970. */
  readonly at: readonly number[];
  /** By process; each as long as `at`. */
  readonly kernels: ReadonlyMap<number, { readonly title: string; readonly samples: readonly (Sample | null)[] }>;
}

export const NO_HISTORY: History = { at: [], kernels: new Map() };

/** One look more. What is older than the window is dropped, and so are kernels that are only in there. */
export function look(before: History, now: Kernels, atSeconds: number): History {
  const drop = before.at.findIndex((at) => at >= atSeconds - WINDOW_SECONDS);
  const kept = drop === -1 ? before.at.length : drop;
  const at = [...before.at.slice(kept), atSeconds];
  const elapsed = atSeconds - (before.at[before.at.length - 1] ?? atSeconds);
  const kernels = new Map<number, { title: string; samples: (Sample | null)[] }>();
  for (const [pid, { title, samples }] of before.kernels) {
    const rest = samples.slice(kept);
    if (rest.some((sample) => sample !== null)) kernels.set(pid, { title, samples: [...rest, null] });
  }
  for (const kernel of now.kernels) {
    const known = kernels.get(kernel.pid) ?? { title: titleOf(kernel.notebook), samples: at.map(() => null) };
    const last = known.samples[known.samples.length - 2] ?? null;
    const cpu = last === null || elapsed <= 0 ? null : Math.max(0, (kernel.cpu_seconds - last.cpu_seconds) / elapsed);
    known.samples[known.samples.length - 1] = { memory_mb: kernel.memory_mb, cpu, cpu_seconds: kernel.cpu_seconds };
    kernels.set(kernel.pid, known);
  }
  return { at, kernels };
}

export function titleOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}
