/** What the whole house tells: which runs changed, how many questions wait, whether the server is there. */

import { create } from "zustand";

import { calls, problemOf, request } from "./api/client";
import { type Connection, follow } from "./api/stream";
import type { Health, RunLine, Session } from "./api/types";

interface HouseState {
  connection: Connection;
  health: Health | null;
  session: Session | null;
  questionsWaiting: number;
  /** The runs that the stream has told of, by id; the newest state of each. */
  runs: Readonly<Record<string, RunLine>>;
  problem: string;
}

export const useHouse = create<HouseState>(() => ({
  connection: "connecting",
  health: null,
  session: null,
  questionsWaiting: 0,
  runs: {},
  problem: "",
}));

/** Follow the house until the function that is given back is called. */
export function followHouse(): () => void {
  request(calls.readHealth()).then(
    (health) => useHouse.setState({ health }),
    () => undefined,
  );
  request(calls.readSession()).then(
    (session) => useHouse.setState({ session }),
    () => undefined,
  );
  return follow({
    stream: calls.followHouse(),
    onConnection: (connection) => {
      // "connecting" after "offline" is still offline to whoever looks.
      const before = useHouse.getState().connection;
      if (connection !== "connecting" || before === "live") useHouse.setState({ connection });
    },
    onEvent: ({ event, data }) => {
      if (event === "runs") {
        const { runs } = JSON.parse(data) as { runs: RunLine[] };
        useHouse.setState((house) => ({
          runs: { ...house.runs, ...Object.fromEntries(runs.map((run) => [run.run, run])) },
        }));
      } else if (event === "questions") {
        useHouse.setState({ questionsWaiting: (JSON.parse(data) as { waiting: number }).waiting });
      }
    },
    onRefused: (error) => useHouse.setState({ problem: problemOf(error).message }),
  });
}
