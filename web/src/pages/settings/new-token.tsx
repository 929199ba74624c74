import { type FormEvent, useState } from "react";

import { calls, request } from "../../api/client";
import type { Scope } from "../../api/types";
import { Button, Card, Dialog, dateTime, tell, tellProblem } from "../../parts";
import css from "./settings.module.css";

interface Made {
  id: string;
  token: string;
  scope: Scope;
  expires_ms: number | null;
}

const SCOPES: readonly { scope: Scope; may: string }[] = [
  { scope: "read", may: "look at everything" },
  { scope: "steer", may: "also start, stop and change runs" },
  { scope: "approve", may: "also answer what runs ask" },
  { scope: "admin", may: "also change keys and tokens" },
];
const DAYS = [
  { days: 1, title: "1 day" },
  { days: 7, title: "7 days" },
  { days: 30, title: "30 days" },
  { days: 90, title: "90 days" },
  { days: 365, title: "1 year" },
  { days: null, title: "until it is revoked" },
] as const;

/** A new token, with no more rights and no more time than it needs. */
export function NewTokenForm({ onMade }: { onMade: () => void }) {
  const [name, setName] = useState("");
  const [scope, setScope] = useState<Scope>("read");
  const [days, setDays] = useState<number | null>(30);
  const [made, setMade] = useState<Made | null>(null);
  const [isBusy, setBusy] = useState(false);
  const make = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    try {
      setMade(await request(calls.createToken({ name: name.trim(), scope, days })));
      setName("");
      onMade();
    } catch (error) {
      tellProblem(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Card title="New token">
      <form className={css.tokenForm} onSubmit={(event) => void make(event)}>
        <label className={css.field}>
          <span>What it is for</span>
          <input type="text" placeholder="nightly report" maxLength={200} value={name} onChange={(event) => setName(event.target.value)} />
        </label>
        <label className={css.field}>
          <span>It may</span>
          <select value={scope} onChange={(event) => setScope(SCOPES.find((each) => each.scope === event.target.value)?.scope ?? "read")}>
            {SCOPES.map((each) => (
              <option key={each.scope} value={each.scope}>
                {each.scope}: {each.may}
              </option>
            ))}
          </select>
        </label>
        <label className={css.field}>
          <span>It counts for</span>
          <select value={String(days)} onChange={(event) => setDays(event.target.value === "null" ? null : Number(event.target.value))}>
            {DAYS.map((each) => (
              <option key={String(each.days)} value={String(each.days)}>
                {each.title}
              </option>
            ))}
          </select>
        </label>
        <Button type="submit" look="primary" isBusy={isBusy} disabled={name.trim() === ""}>
          Make it
        </Button>
      </form>
      {made !== null && <ShownOnce made={made} onClose={() => setMade(null)} />}
    </Card>
  );
}

function ShownOnce({ made, onClose }: { made: Made; onClose: () => void }) {
  const copy = () => {
    navigator.clipboard.writeText(made.token).then(
      () => tell("Copied."),
      () => tell("Select it and copy it by hand.", "The browser did not allow copying."),
    );
  };
  return (
    <Dialog
      title="Copy it now"
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>I have it</Button>
          <Button look="primary" onClick={copy}>
            Copy
          </Button>
        </>
      }
    >
      <p className={css.cardLead}>This is the only time it is shown. It may {made.scope}{made.expires_ms === null ? "" : ` until ${dateTime(made.expires_ms)}`}.</p>
      <code className={css.secret} tabIndex={0}>
        {made.token}
      </code>
      <p className={css.faint}>
        Sent as <code>Authorization: Bearer …</code>
      </p>
    </Dialog>
  );
}
