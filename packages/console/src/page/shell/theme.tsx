import { signal } from "@preact/signals";
import { Icon, type IconName } from "../kit/icon.tsx";

const THEMES = ["system", "light", "dark"] as const;

type Theme = (typeof THEMES)[number];

const STORED_THEME = "convoke-theme";

const ICONS: Readonly<Record<Theme, IconName>> = { system: "screen", light: "sun", dark: "moon" };

const theme = signal<Theme>(readTheme());

function readTheme(): Theme {
  const stored = localStorage.getItem(STORED_THEME);
  return THEMES.find((name) => name === stored) ?? "system";
}

/** Applies the theme to the page. Call it before the first render, so that nothing flashes. */
export function applyTheme(): void {
  document.documentElement.dataset["theme"] = theme.value;
}

/** Switches between the theme of the system, light and dark. */
export function ThemeButton() {
  const next = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length]!;
  const change = (): void => {
    theme.value = next;
    localStorage.setItem(STORED_THEME, next);
    applyTheme();
  };
  const label = `Theme: ${theme.value}. Switch to ${next}.`;
  return (
    <button
      type="button"
      class="button quiet icon-only"
      title={label}
      aria-label={label}
      onClick={change}
    >
      <Icon name={ICONS[theme.value]} />
    </button>
  );
}
