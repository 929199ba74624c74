import { create } from "zustand";

import { Dialog, Kbd } from "./parts";
import { useKeyList } from "./parts/keys";
import css from "./app.module.css";

const useHelp = create<{ isOpen: boolean }>(() => ({ isOpen: false }));

export function openKeyHelp(): void {
  useHelp.setState({ isOpen: true });
}

/** Every key that does something here and now. */
export function KeyHelp() {
  const isOpen = useHelp((state) => state.isOpen);
  const held = useKeyList((state) => state.held);
  if (!isOpen) return null;
  const groups = Map.groupBy(held, (each) => each.group);
  return (
    <Dialog title="Keys" onClose={() => useHelp.setState({ isOpen: false })}>
      {[...groups].reverse().map(([group, all]) => (
        <section key={group} className={css.keyGroup}>
          <h3>{group}</h3>
          <dl className={css.keyList}>
            {all
              .flatMap((each) => each.bindings)
              .map(({ keys, does }) => (
                <div key={keys}>
                  <dt>
                    {keys.split(" ").map((key) => (
                      <Kbd key={key}>{key}</Kbd>
                    ))}
                  </dt>
                  <dd>{does}</dd>
                </div>
              ))}
          </dl>
        </section>
      ))}
    </Dialog>
  );
}
