import type { Kernel, Latency, Spent } from "../../api/types";

/** One sum; calls whose price nobody knows are counted apart, never as 0. */
export interface Sum extends Spent {
  cache_read_tokens: number;
  unpriced_calls: number;
  unknown_calls: number;
}

export interface UsageSums {
  since: string;
  by_day: (Sum & { day: string })[];
  by_model: (Sum & { model: string })[];
  by_run: (Sum & { run: string; goal: string })[];
  latency: Latency[];
}

export interface KernelUse extends Kernel {
  notebook_id: string;
}

export interface KernelsNow {
  kernels: KernelUse[];
  queue: { waiting: number; at_work: number };
  questions_waiting: number;
}
