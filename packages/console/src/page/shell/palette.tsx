import { useEffect, useRef, useState } from "preact/hooks";
import { Icon } from "../kit/icon.tsx";
import { navigate } from "../navigation/navigate.tsx";
import { about } from "../server/about.ts";
import { type TaskRow, listTasks } from "../server/task-list.ts";
import { type PaletteItem, allItems, findItems } from "./palette-items.ts";

/** A list of places to go to, filtered by what is typed: the combobox of the ARIA practices. */
export function Palette({ close }: { readonly close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [query, setQuery] = useState("");
  const [selected, setSelected] = useState(0);
  const tasks = useRecentTasks();
  useEffect(() => dialog.current?.showModal(), []);
  const items = findItems(allItems(about.value?.agents ?? [], tasks), query);
  const current = Math.min(selected, items.length - 1);
  const choose = ({ to }: PaletteItem): void => {
    close();
    navigate(to);
  };
  const press = (event: KeyboardEvent): void => {
    const next = nextIndex(event.key, current, items.length);
    const item = items[current];
    if (next !== undefined) setSelected(next);
    else if (event.key === "Enter" && item !== undefined) choose(item);
    else return;
    event.preventDefault();
  };
  return (
    <dialog
      ref={dialog}
      class="dialog palette"
      aria-label="Go to"
      onClose={close}
      onClick={(event) => event.target === dialog.current && close()}
    >
      <div class="palette-field">
        <Icon name="search" />
        <input
          class="palette-input"
          role="combobox"
          aria-label="Go to a page, an agent or a task"
          aria-expanded="true"
          aria-controls="palette-items"
          aria-autocomplete="list"
          aria-activedescendant={items.length > 0 ? `palette-${current}` : undefined}
          placeholder="Page, agent, task or task id"
          autocomplete="off"
          spellcheck={false}
          autofocus
          value={query}
          onInput={(event) => {
            setQuery(event.currentTarget.value);
            setSelected(0);
          }}
          onKeyDown={press}
        />
      </div>
      <ul id="palette-items" class="palette-items" role="listbox" aria-label="Places">
        {items.map((item, place) => (
          <Option
            key={item.kind + item.name + place}
            item={item}
            place={place}
            isSelected={place === current}
            choose={choose}
          />
        ))}
      </ul>
      <p class="muted small palette-none" role="status">
        {items.length === 0 && "Nothing matches."}
      </p>
    </dialog>
  );
}

function nextIndex(key: string, current: number, count: number): number | undefined {
  if (count === 0) return undefined;
  switch (key) {
    case "ArrowDown":
      return (current + 1) % count;
    case "ArrowUp":
      return (current + count - 1) % count;
    default:
      return undefined;
  }
}

interface OptionProps {
  readonly item: PaletteItem;
  readonly place: number;
  readonly isSelected: boolean;
  readonly choose: (item: PaletteItem) => void;
}

function Option({ item, place, isSelected, choose }: OptionProps) {
  const row = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (isSelected) row.current?.scrollIntoView({ block: "nearest" });
  }, [isSelected]);
  return (
    <li
      ref={row}
      id={`palette-${place}`}
      class="palette-item"
      role="option"
      aria-selected={isSelected}
      // The field keeps the focus, so the list needs no keys of its own.
      onMouseDown={(event) => event.preventDefault()}
      onClick={() => choose(item)}
    >
      <Icon name={item.icon} size={16} />
      <span class="palette-name">{item.name}</span>
      <span class="muted small">{item.kind}</span>
    </li>
  );
}

const RECENT = 8;

function useRecentTasks(): readonly TaskRow[] {
  const [tasks, setTasks] = useState<readonly TaskRow[]>([]);
  useEffect(() => {
    listTasks({}, { size: RECENT })
      .then((page) => setTasks(page.tasks))
      // The palette also works without them.
      .catch(() => undefined);
  }, []);
  return tasks;
}
