import { useEffect, useRef } from "react";
import { Link, useParams } from "wouter";

import { usePageTitle } from "../runs/page-title";
import { ApprovalsSection } from "./approvals";
import { LookSection } from "./look";
import { MachineSection } from "./machine";
import { ModelsSection } from "./models";
import { RolesSection } from "./roles";
import { RulesSection } from "./rules";
import { TokensSection } from "./tokens";
import { ToolServersSection } from "./tool-servers";
import css from "./settings.module.css";

const SECTIONS = [
  { id: "models", title: "Models and keys", Section: ModelsSection },
  { id: "roles", title: "Roles and skills", Section: RolesSection },
  { id: "tools", title: "Tool servers", Section: ToolServersSection },
  { id: "rules", title: "Policy rules", Section: RulesSection },
  { id: "approvals", title: "Standing approvals", Section: ApprovalsSection },
  { id: "tokens", title: "Access tokens", Section: TokensSection },
  { id: "look", title: "Appearance", Section: LookSection },
  { id: "machine", title: "This machine", Section: MachineSection },
] as const;

/** How this house is set up. */
export default function SettingsPage() {
  const { section } = useParams<{ section?: string }>();
  const at = SECTIONS.find((each) => each.id === section) ?? SECTIONS[0];
  const nav = useRef<HTMLElement>(null);
  usePageTitle(at.title);
  useEffect(() => {
    // On a narrow page the sections stand in a row that scrolls.
    nav.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
  }, [at.id]);
  return (
    <div className={css.page}>
      <nav ref={nav} className={css.nav} aria-label="Settings">
        <h1 className={css.title}>Settings</h1>
        {SECTIONS.map(({ id, title }) => (
          <Link key={id} href={`/settings/${id}`} className={css.link} aria-current={id === at.id ? "page" : undefined}>
            {title}
          </Link>
        ))}
        <Link href="/welcome" className={css.link}>
          First steps
        </Link>
      </nav>
      <div className={css.content}>
        <at.Section />
      </div>
    </div>
  );
}
