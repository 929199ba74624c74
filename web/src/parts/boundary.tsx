import { Component, type ReactNode } from "react";

import { Banner } from "./banner";
import { Button } from "./button";

interface BoundaryProps {
  /** Another one clears the fault, e.g. another page. */
  place: string;
  children: ReactNode;
}

/** A part of the page that went wrong says so; the rest goes on. */
export class Boundary extends Component<BoundaryProps, { fault: Error | null; place: string }> {
  override state = { fault: null as Error | null, place: this.props.place };

  static getDerivedStateFromError(fault: Error) {
    return { fault };
  }

  static getDerivedStateFromProps(props: BoundaryProps, state: { place: string }) {
    return props.place === state.place ? null : { fault: null, place: props.place };
  }

  override render() {
    const { fault } = this.state;
    if (fault === null) return this.props.children;
    return (
      <div style={{ padding: 24 }}>
        <Banner tone="bad" actions={<Button onClick={() => location.reload()}>Load again</Button>}>
          <strong>This view went wrong: {fault.message}.</strong> Runs are not touched by it. Load the page again; if it
          comes back, please report it.
        </Banner>
      </div>
    );
  }
}
