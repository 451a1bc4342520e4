import { Link, navigate } from "../navigation/navigate.tsx";
import type { Route } from "../navigation/route.ts";

interface Tab {
  readonly id: string;
  readonly name: string;
  readonly to: Route;
}

interface TabsProps {
  /** What the tabs choose between. */
  readonly label: string;
  readonly tabs: readonly Tab[];
  readonly selected: string;
  /** The id of the element that shows the selected one. */
  readonly panelId: string;
}

/** Tabs with an address each. Arrow keys move between them, as the ARIA practices want it. */
export function Tabs({ label, tabs, selected, panelId }: TabsProps) {
  const move = (event: KeyboardEvent): void => {
    const place = tabs.findIndex(({ id }) => id === selected);
    const next = nextPlace(event.key, place, tabs.length);
    if (next === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    const list = event.currentTarget as HTMLElement;
    navigate(tabs[next]!.to, { replaces: true });
    list.querySelectorAll<HTMLElement>("[role=tab]")[next]?.focus();
  };
  return (
    <div class="tabs" role="tablist" aria-label={label} tabIndex={-1} onKeyDown={move}>
      {tabs.map(({ id, name, to }) => (
        <Link
          key={id}
          to={to}
          class="tab"
          role="tab"
          id={`tab-${id}`}
          aria-selected={id === selected}
          aria-controls={panelId}
          tabIndex={id === selected ? 0 : -1}
        >
          {name}
        </Link>
      ))}
    </div>
  );
}

function nextPlace(key: string, place: number, count: number): number | undefined {
  switch (key) {
    case "ArrowRight":
      return (place + 1) % count;
    case "ArrowLeft":
      return (place + count - 1) % count;
    case "Home":
      return 0;
    case "End":
      return count - 1;
    default:
      return undefined;
  }
}
