import { useEffect, useRef } from "preact/hooks";
import { singleKeys } from "./single-keys.ts";

/** Calls back when a single key is pressed, unless someone is typing or has switched such keys off. */
export function useKeys(keys: Readonly<Record<string, () => void>>): void {
  const latest = useRef(keys);
  latest.current = keys;
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      const action = latest.current[event.key];
      if (action === undefined || event.defaultPrevented || isTyping(event)) return;
      if (!singleKeys.value || document.querySelector("dialog[open]") !== null) return;
      event.preventDefault();
      action();
    };
    globalThis.addEventListener("keydown", press);
    return () => globalThis.removeEventListener("keydown", press);
  }, []);
}

function isTyping({ target, ctrlKey, metaKey, altKey }: KeyboardEvent): boolean {
  if (ctrlKey || metaKey || altKey) return true;
  if (!(target instanceof HTMLElement)) return false;
  const isField = /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
  return target.isContentEditable || (isField && (target as HTMLInputElement).type !== "range");
}
