import { useState } from "preact/hooks";
import { Icon } from "../kit/icon.tsx";
import { Link } from "../navigation/navigate.tsx";
import { type TaskFilters, parseRoute } from "../navigation/route.ts";
import { formatRoute } from "../navigation/route.ts";

/** Filters with a name, kept in this browser. */
interface SavedView {
  readonly name: string;
  /** The address of the list, so that only what an address can say is read back. */
  readonly address: string;
}

const STORED_VIEWS = "convoke-task-views";

function readViews(): readonly SavedView[] {
  try {
    const stored = JSON.parse(localStorage.getItem(STORED_VIEWS) ?? "[]") as readonly SavedView[];
    return stored.filter(
      ({ name, address }) => typeof name === "string" && typeof address === "string",
    );
  } catch {
    return [];
  }
}

/** Saves the filters of the list under a name, and shows the saved ones. */
export function SavedViews({ filters }: { readonly filters: TaskFilters }) {
  const [views, setViews] = useState(readViews);
  const change = (next: readonly SavedView[]): void => {
    localStorage.setItem(STORED_VIEWS, JSON.stringify(next));
    setViews(next);
  };
  const save = (event: SubmitEvent): void => {
    event.preventDefault();
    const form = event.currentTarget as HTMLFormElement;
    const name = new FormData(form).get("name");
    if (typeof name !== "string" || name.trim() === "") return;
    const view = { name: name.trim(), address: formatRoute({ page: "tasks", filters }) };
    change([...views.filter((other) => other.name !== view.name), view]);
    form.reset();
  };
  return (
    <>
      <button type="button" class="button" popovertarget="views-menu">
        Views
        <Icon name="down" size={14} />
      </button>
      <div id="views-menu" class="menu" popover="auto">
        {views.length === 0 && <p class="menu-note small muted">No saved views yet.</p>}
        {views.map((view) => (
          <div key={view.name} class="view-row">
            <Link to={parseRoute(view.address)} class="menu-item">
              {view.name}
            </Link>
            <button
              type="button"
              class="button quiet icon-only"
              aria-label={`Remove the view ${view.name}`}
              onClick={() => change(views.filter((other) => other !== view))}
            >
              <Icon name="close" size={14} />
            </button>
          </div>
        ))}
        <form class="view-form" onSubmit={save}>
          <label class="field">
            Save the current filters as
            <input class="input" name="name" required maxLength={60} />
          </label>
          <button type="submit" class="button">
            Save
          </button>
        </form>
      </div>
    </>
  );
}
