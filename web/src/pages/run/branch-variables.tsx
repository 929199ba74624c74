import type { TriedVariable } from "../../api/types";
import { sidesOf } from "./branch-groups";
import css from "./branches.module.css";

/** How each variable differs: shape, missing values, ranges, before and after. */
export function BranchVariables({ label, variables }: { label: string; variables: readonly TriedVariable[] }) {
  return (
    <div className={css.tableWrap} tabIndex={0} role="region" aria-label={label}>
      <table className={css.variables}>
        <thead>
          <tr>
            <th scope="col">Variable</th>
            <th scope="col">Before</th>
            <th scope="col">After</th>
          </tr>
        </thead>
        {variables.map((variable) => (
          <tbody key={variable.name}>
            {sidesOf(variable).map(({ of, before, after }, at) => (
              <tr key={`${at} ${of}`}>
                <th scope="row" title={variable.type}>
                  {at === 0 && <code>{variable.name}</code>}
                  {of !== "" && <span className={css.of}>{of}</span>}
                </th>
                <td>{before === "" ? <i>not there</i> : before}</td>
                <td>{after === "" ? <i>gone</i> : after}</td>
              </tr>
            ))}
          </tbody>
        ))}
      </table>
    </div>
  );
}
