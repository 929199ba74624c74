/** What somebody answered, in words. Pure. */

export type Fields = Readonly<Record<string, unknown>>;

export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Answers are kept as JSON where they say more than a word. */
export function answerWords(answer: string): string {
  const reply = replyOf(answer);
  if (reply === null) return answer;
  const words = ["says", "reach", "feedback", "more", "amount"]
    .map((name) => reply[name])
    .filter((each) => typeof each === "string" && each !== "");
  return words.length > 0 ? words.join(", ") : answer;
}

/** What was replied at the desk; null: it was said in plain words. */
export function replyOf(answer: string): Fields | null {
  if (!answer.startsWith("{")) return null;
  try {
    const told: unknown = JSON.parse(answer);
    if (!isFields(told)) return null;
    return isFields(told["reply"]) ? told["reply"] : told;
  } catch {
    return null;
  }
}
