/** The answers a question takes, in a person's words. Pure. */

import type { Answer, Question } from "../../api/types";

export interface Choice {
  id: string;
  title: string;
  /** The key that picks it; "": none. */
  key: string;
  look: "primary" | "plain" | "danger";
  /** What else must be said: nothing, a feedback that may be empty, an amount. */
  needs: "nothing" | "feedback" | "amount";
  means: string;
}

const KNOWN: Record<string, Omit<Choice, "id">> = {
  once: { title: "Yes, once", key: "y", look: "primary", needs: "nothing", means: "Only this one action, once." },
  run: {
    title: "For this run",
    key: "r",
    look: "plain",
    needs: "nothing",
    means: "Everything like it until the run ends.",
  },
  always: {
    title: "Always",
    key: "a",
    look: "plain",
    needs: "nothing",
    means: "Everything like it in this project from now on. Revocable in Settings.",
  },
  raise: {
    title: "Raise the cap",
    key: "y",
    look: "primary",
    needs: "amount",
    means: "By so much more; the run goes on.",
  },
  price: {
    title: "Count it as",
    key: "",
    look: "plain",
    needs: "amount",
    means: "A price, put on what has none.",
  },
  uncounted: {
    title: "Go on uncounted",
    key: "",
    look: "plain",
    needs: "nothing",
    means: "It is not counted against the cap.",
  },
  no: {
    title: "No",
    key: "n",
    look: "danger",
    needs: "feedback",
    means: "It is not done. The agent reads what you say.",
  },
  resume: { title: "Resume", key: "y", look: "primary", needs: "nothing", means: "The run goes on." },
};

const TRUST: Record<string, Omit<Choice, "id">> = {
  accept: {
    title: "Accept",
    key: "y",
    look: "plain",
    needs: "nothing",
    means: "Agents go by exactly this, in this run and later ones, until it changes.",
  },
  "go on without": {
    title: "Go on without",
    key: "n",
    look: "plain",
    needs: "nothing",
    means: "The run uses Cellwright's own. The next run asks again.",
  },
};

const DISPUTE: Record<string, Omit<Choice, "id">> = {
  keep: {
    title: "Keep the test",
    key: "k",
    look: "plain",
    needs: "nothing",
    means: "The builder must make the notebook pass it.",
  },
  drop: { title: "Drop it", key: "d", look: "plain", needs: "nothing", means: "The test goes; nothing takes its place." },
  replace: {
    title: "Replace it",
    key: "r",
    look: "plain",
    needs: "nothing",
    means: "The builder's test takes its place, and is the tester's from then on.",
  },
};

/** Whether it is about a test that a builder says is wrong. */
export function isDispute(question: Question): boolean {
  return question.topic === "check-dispute";
}

/** Whether it is about the roles and skills a project brings along. */
export function isTrust(question: Question): boolean {
  return question.topic === "project-trust";
}

/** Whether it is about a whole plan: such a yes is for the run, never for one action. */
export function isEnvelope(question: Question): boolean {
  return question.topic === "approval" && !question.offers.includes("once");
}

export function choicesOf(question: Question): Choice[] {
  const isOnDesk = question.fingerprint !== undefined && question.fingerprint !== "";
  return question.offers.map((offer) => {
    const known = isTrust(question)
      ? TRUST[offer]
      : isDispute(question)
        ? DISPUTE[offer]
        : isOnDesk
          ? knownOf(question, offer)
          : undefined;
    return known === undefined
      ? { id: offer, title: offer, key: "", look: "plain", needs: "nothing", means: "" }
      : { id: offer, ...known };
  });
}

function knownOf(question: Question, offer: string): Omit<Choice, "id"> | undefined {
  if (offer === "run" && isEnvelope(question))
    return {
      title: "Yes, agree",
      key: "y",
      look: "primary",
      needs: "nothing",
      means: "All of this, until the run ends.",
    };
  return KNOWN[offer];
}

/** In what an amount is counted, as the question says it. */
export function unitOf(question: Question): string {
  return /^A (?:raise|price) is an amount in (\S+?)(?:,| for )/m.exec(question.what)?.[1] ?? "USD";
}

export function answerOf(question: Question, choice: Choice, words: string): Answer {
  const fingerprint = question.fingerprint ?? "";
  switch (fingerprint === "" ? "" : choice.id) {
    case "once":
    case "run":
    case "always":
      return { answer: "yes", reach: choice.id as "once" | "run" | "always", fingerprint, feedback: "" };
    case "no":
      return { answer: "no", reach: null, fingerprint, feedback: words };
    case "raise":
    case "price":
      return { answer: `${choice.id} ${words}`, reach: null, fingerprint, feedback: "" };
    default:
      return { answer: choice.id, reach: null, fingerprint, feedback: "" };
  }
}
