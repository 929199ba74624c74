import { type Theme, setTheme, useTheme } from "../../theme";
import { Card } from "../../parts";
import { Section } from "./section";
import css from "./settings.module.css";

const THEMES: readonly { theme: Theme; title: string; note: string }[] = [
  { theme: "system", title: "As the system", note: "Follows day and night of your machine" },
  { theme: "light", title: "Light", note: "Paper" },
  { theme: "dark", title: "Dark", note: "Night shift" },
];

export function LookSection() {
  const { theme } = useTheme();
  return (
    <Section title="Appearance" lead="Kept in this browser. The notebook editor follows when it is opened the next time.">
      <Card>
        <fieldset className={css.themes}>
          <legend className="visually-hidden">Theme</legend>
          {THEMES.map((each) => (
            <label key={each.theme} className={css.theme} data-theme-shown={each.theme}>
              <input type="radio" name="theme" checked={theme === each.theme} onChange={() => setTheme(each.theme)} />
              <span className={css.swatch} aria-hidden="true">
                <span />
                <span />
                <span />
              </span>
              <b>{each.title}</b>
              <span className={css.faint}>{each.note}</span>
            </label>
          ))}
        </fieldset>
      </Card>
    </Section>
  );
}
