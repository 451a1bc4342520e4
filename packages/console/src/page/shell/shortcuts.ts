import { useEffect, useRef } from "preact/hooks";
import { singleKeys } from "../kit/single-keys.ts";
import { navigate } from "../navigation/navigate.tsx";
import { SECTIONS } from "./sections.ts";

/** What the keys of the frame open. */
export interface ShortcutActions {
  readonly openPalette: () => void;
  readonly openHelp: () => void;
}

/** The second key must follow the first one within this time. */
const SEQUENCE_MS = 1500;

/**
 * Listens to the keys that work on every page. They are seen before those of a page, so that the
 * second key of `g a` never does what `a` alone does there.
 */
export function useShortcuts(actions: ShortcutActions): void {
  const latest = useRef(actions);
  latest.current = actions;
  useEffect(() => {
    let startedAt = Number.NEGATIVE_INFINITY;
    const press = (event: KeyboardEvent): void => {
      const action = findAction(event, event.timeStamp - startedAt < SEQUENCE_MS);
      if (!isModifier(event)) startedAt = action === "start" ? event.timeStamp : -SEQUENCE_MS;
      if (action === undefined) return;
      event.preventDefault();
      event.stopPropagation();
      if (typeof action === "function") action(latest.current);
    };
    globalThis.addEventListener("keydown", press, { capture: true });
    return () => globalThis.removeEventListener("keydown", press, { capture: true });
  }, []);
}

type Action = "start" | ((actions: ShortcutActions) => void);

function findAction(event: KeyboardEvent, isSecond: boolean): Action | undefined {
  const { key, ctrlKey, metaKey, altKey } = event;
  if ((ctrlKey || metaKey) && !altKey && key.toLowerCase() === "k") {
    return ({ openPalette }) => openPalette();
  }
  const isSingle = !ctrlKey && !metaKey && !altKey && singleKeys.value && !isElsewhere(event);
  if (!isSingle) return undefined;
  if (isSecond) {
    const section = SECTIONS.find((each) => each.key === key);
    return section && (() => navigate(section.to));
  }
  if (key === "g") return "start";
  if (key === "/") return ({ openPalette }) => openPalette();
  if (key === "?") return ({ openHelp }) => openHelp();
  return undefined;
}

function isModifier({ key }: KeyboardEvent): boolean {
  return ["Shift", "Control", "Alt", "Meta"].includes(key);
}

/** Whether the key is typed into something, or meant for an open dialog. */
function isElsewhere({ target }: KeyboardEvent): boolean {
  if (document.querySelector("dialog[open]") !== null) return true;
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
}
