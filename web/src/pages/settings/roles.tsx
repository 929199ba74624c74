import { calls } from "../../api/client";
import type { Role } from "../../api/types";
import { Card, Empty, Markdown, thousands, useFetched } from "../../parts";
import { Awaited, Section } from "./section";
import css from "./settings.module.css";

export function RolesSection() {
  const roles = useFetched(calls.listRoles());
  const skills = useFetched(calls.listSkills());
  return (
    <Section title="Roles and skills" lead="Who works here, with which tools, and what this folder has written down how to do. Both are text files: change them with any editor.">
      <Card title="Roles" isFlush>
        <Awaited found={roles}>{({ roles: all }) => <RoleList roles={all} />}</Awaited>
      </Card>
      <Card title="Skills" isFlush>
        <Awaited found={skills}>
          {({ skills: all }) =>
            all.length === 0 ? (
              <Empty title="No skills in this folder">
                <p>
                  Write one down as <code>.cellwright/skills/NAME/SKILL.md</code>: agents read it when they need it, once you
                  have accepted it.
                </p>
              </Empty>
            ) : (
              <ul className={css.rows}>
                {all.map((skill) => (
                  <li key={skill.name}>
                    <details className={css.fold}>
                      <summary>
                        <b>{skill.name}</b>
                        <span className={css.faint}>{skill.description}</span>
                      </summary>
                      <div className={css.foldBody}>
                        <Markdown text={skill.body} />
                      </div>
                    </details>
                  </li>
                ))}
              </ul>
            )
          }
        </Awaited>
      </Card>
    </Section>
  );
}

function RoleList({ roles }: { roles: readonly Role[] }) {
  return (
    <ul className={css.rows}>
      {roles.map((role) => (
        <li key={role.name}>
          <details className={css.fold}>
            <summary>
              <b>
                {role.name}
                {role.is_own && <span className={css.tag}>this folder’s</span>}
              </b>
              <span className={css.faint}>{role.description}</span>
            </summary>
            <div className={css.foldBody}>
              <dl className={css.pairs}>
                <div>
                  <dt>Models</dt>
                  <dd>{role.tier}</dd>
                </div>
                <div>
                  <dt>Works by</dt>
                  <dd>{role.style}</dd>
                </div>
                <div>
                  <dt>At most</dt>
                  <dd>
                    {role.steps} steps, {thousands(role.tokens)} tokens
                  </dd>
                </div>
              </dl>
              <p className={css.chips} aria-label="Tools">
                {role.tools.map((tool) => (
                  <code key={tool} className={css.chip}>
                    {tool === "*" ? "every tool" : tool}
                  </code>
                ))}
              </p>
              <pre className={css.prompt} tabIndex={0} aria-label={`What the ${role.name} is told`}>
                {role.prompt}
              </pre>
            </div>
          </details>
        </li>
      ))}
    </ul>
  );
}
