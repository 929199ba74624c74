/** Numbers as people read them. */

export function dollars(microdollars: number): string {
  const amount = microdollars / 1e6;
  if (amount > 0 && amount < 0.0001) return "<$0.0001";
  return amount >= 1 || amount === 0 ? `$${amount.toFixed(2)}` : `$${amount.toFixed(4)}`;
}

/** The amounts of an axis: as many digits as say every one exactly, and cents as cents. */
export function amounts(splits: readonly number[]): string[] {
  const isExact = (digits: number) => splits.every((amount) => Math.abs(amount - Number(amount.toFixed(digits))) < 1e-9);
  const digits = [0, 2, 3, 4, 5].find(isExact) ?? 6;
  const format = new Intl.NumberFormat("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return splits.map((amount) => `$${format.format(amount)}`);
}

/** What a run cost. A price nobody knows is said to be unknown, never 0. */
export function cost(microdollars: number, unpricedTokens: number): string {
  if (unpricedTokens === 0) return dollars(microdollars);
  return microdollars === 0 ? "unknown" : `${dollars(microdollars)} +`;
}

export function elapsed(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  const hours = Math.floor(whole / 3600);
  const minutes = Math.floor(whole / 60) % 60;
  if (hours > 0) return `${hours} h ${String(minutes).padStart(2, "0")} min`;
  return minutes > 0 ? `${minutes} min ${String(whole % 60).padStart(2, "0")} s` : `${whole} s`;
}

export function thousands(count: number): string {
  if (count >= 1_000_000) return `${(count / 1_000_000).toFixed(1)}M`;
  return count >= 10_000 ? `${Math.round(count / 1000)}k` : count.toLocaleString("en");
}

export function bytes(count: number): string {
  const units = ["B", "KB", "MB", "GB", "TB"];
  let amount = count;
  let unit = 0;
  while (amount >= 1000 && unit < units.length - 1) {
    amount /= 1000;
    unit += 1;
  }
  return `${unit === 0 || amount >= 100 ? Math.round(amount) : amount.toFixed(1)} ${units[unit]}`;
}

const CLOCK = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const DATE_TIME = new Intl.DateTimeFormat("en-GB", {
  day: "numeric",
  month: "short",
  hour: "2-digit",
  minute: "2-digit",
});

const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });
const HALF_A_YEAR_MS = 182 * 86_400_000;

/** When a file was changed: lately with its minute, before that with its year. */
export function ageOf(atMs: number, nowMs: number): string {
  return Math.abs(nowMs - atMs) < HALF_A_YEAR_MS ? dateTime(atMs) : DAY.format(atMs);
}

export function clock(atMs: number): string {
  return CLOCK.format(atMs);
}

export function dateTime(atMs: number): string {
  return DATE_TIME.format(atMs);
}
