/** What the API says about how this house is set up. */

export interface Model {
  name: string;
  tiers: string[];
  is_ready: boolean;
  needs: string;
  is_local: boolean;
  abilities: string[];
  context_tokens: number | null;
  /** In `currency`; null: nobody knows it. */
  input_price_per_million: string | null;
  output_price_per_million: string | null;
  currency: string;
  health: "closed" | "open" | "half-open";
}

export interface Provider {
  name: string;
  kind: string;
  is_ready: boolean;
  /** environment, keyring, file; empty: there is none; `not needed`. */
  key_from: string;
  needs: string;
  is_local: boolean;
  base_url: string;
  health: "closed" | "open" | "half-open";
}

export interface Models {
  tiers: Record<string, string[]>;
  models: Model[];
  providers: Provider[];
}

export interface Role {
  name: string;
  description: string;
  prompt: string;
  tools: string[];
  tier: string;
  style: string;
  steps: number;
  tokens: number;
  context_tokens: number;
  temperature: number | null;
  is_own: boolean;
}

export interface Skill {
  name: string;
  description: string;
  body: string;
}

export type Saying = "allow" | "ask" | "deny";

export interface Rules {
  project: string;
  layers: { layer: string; file: string; is_there: boolean }[];
  rules: { layer: string; says: Saying; actions: string[]; where: string; reason: string }[];
  limits: { limit: string; where: string }[];
}

export interface Why {
  verdict: Saying;
  basis: string;
  says: string;
  describes: string;
}

export interface LastingYes {
  id: string;
  covers: string;
  project: string;
  reach: "once" | "run" | "always";
  run: string;
  by: string;
  door: string;
  at_ms: number;
  expires_ms: number | null;
}

export type Tier = "A" | "B" | "C" | "D";

export interface Finding {
  name: string;
  ok: boolean;
  detail: string;
  consequence: string;
}

export interface Findings {
  ok: boolean;
  tier: Tier;
  findings: Finding[];
}

export interface HouseSettings {
  version: string;
  folder: string;
  state_directory: string;
  cache: string;
  team_rules: string | null;
  private_hosts: string[];
  git_name: string;
  git_email: string;
  tier: Tier;
}
