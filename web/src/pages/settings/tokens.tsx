import { useState } from "react";

import { calls, request } from "../../api/client";
import type { Token } from "../../api/types";
import { Button, Card, Dialog, dateTime, tell, tellProblem, useFetched } from "../../parts";
import { NewTokenForm } from "./new-token";
import { Awaited, NeedsScope, Section, useMay } from "./section";
import css from "./settings.module.css";

interface TokenLine extends Token {
  /** This very tab's. */
  is_own: boolean;
}

export function TokensSection() {
  const mayChange = useMay("admin");
  const found = useFetched(mayChange ? calls.listTokens() : null);
  const [leaving, setLeaving] = useState<TokenLine | null>(null);
  const revoke = async (token: TokenLine) => {
    try {
      await request(calls.revokeToken(token.id));
      tell(`${token.name} can no longer come in.`);
      setLeaving(null);
      found.refresh();
    } catch (error) {
      tellProblem(error);
    }
  };
  return (
    <Section title="Access tokens" lead="Who may come in by this door, and how much they may do. Only a hash is kept: a token is shown once, when it is made.">
      {!mayChange && <NeedsScope scope="admin" />}
      {mayChange && (
        <>
          <NewTokenForm onMade={found.refresh} />
          <Awaited found={found}>{({ tokens }) => <TokenList tokens={tokens} onRevoke={(token) => (token.is_own ? setLeaving(token) : void revoke(token))} />}</Awaited>
        </>
      )}
      {leaving !== null && (
        <Dialog
          title="Sign out of this tab?"
          onClose={() => setLeaving(null)}
          actions={
            <>
              <Button onClick={() => setLeaving(null)}>Stay</Button>
              <Button look="danger" onClick={() => void revoke(leaving)}>
                Revoke and sign out
              </Button>
            </>
          }
        >
          <p>This is the token you are using now. Without it you need a new address from the terminal to come back.</p>
        </Dialog>
      )}
    </Section>
  );
}

function TokenList({ tokens, onRevoke }: { tokens: readonly TokenLine[]; onRevoke: (token: TokenLine) => void }) {
  return (
    <Card title="Tokens that count" isFlush>
      <ul className={css.rows}>
        {tokens.map((token) => (
          <li key={token.id} className={css.row}>
            <span className={css.rowMain}>
              <b>
                {token.name}
                {token.is_own && <span className={css.tag}>this tab</span>}
              </b>
              <span className={css.faint}>
                {token.person} may {token.scope} · {token.last_used_ms === null ? "never used" : `last used ${dateTime(token.last_used_ms)}`} ·{" "}
                {token.expires_ms === null ? "until it is revoked" : `until ${dateTime(token.expires_ms)}`}
              </span>
            </span>
            <span className={css.rowActions}>
              <Button size="small" look="danger" onClick={() => onRevoke(token)} aria-label={`Revoke ${token.name}`}>
                Revoke
              </Button>
            </span>
          </li>
        ))}
      </ul>
    </Card>
  );
}
