import type { ButtonHTMLAttributes, ReactNode, Ref } from "react";
import { Link } from "wouter";

import { Spinner } from "./spinner";
import css from "./parts.module.css";

export interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  look?: "plain" | "primary" | "danger" | "quiet";
  size?: "small" | "medium";
  /** At work: shows so, and cannot be pressed. */
  isBusy?: boolean;
  ref?: Ref<HTMLButtonElement>;
  children?: ReactNode;
}

export function Button({ look = "plain", size = "medium", isBusy = false, className, children, ...rest }: ButtonProps) {
  const looks = [css.button, look === "plain" ? "" : css[look], size === "small" ? css.small : "", className ?? ""];
  return (
    <button type="button" {...rest} className={looks.join(" ")} disabled={rest.disabled === true || isBusy}>
      {isBusy && <Spinner />}
      {children}
    </button>
  );
}

/** Goes somewhere, and looks as important as the button that it stands for. */
export function ButtonLink({ href, children }: { href: string; children: ReactNode }) {
  return (
    <Link href={href} className={`${css.button} ${css.primary}`}>
      {children}
    </Link>
  );
}
