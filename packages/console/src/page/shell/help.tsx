import { useEffect, useRef } from "preact/hooks";
import { singleKeys, switchSingleKeys } from "../kit/single-keys.ts";
import { SECTIONS } from "./sections.ts";

const KEYS: readonly (readonly [string, string])[] = [
  ["Ctrl K or ⌘ K", "Go to a page, an agent or a task"],
  ["/", "The same"],
  ...SECTIONS.map(({ key, name }) => [`g ${key}`, name] as const),
  ["j, k", "Next or previous one of a list"],
  ["[, ]", "One event back or forward in a task"],
  ["?", "This help"],
];

/** The keys of the console, and the switch for those without a modifier. */
export function Help({ close }: { readonly close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} class="dialog" aria-labelledby="help-title" onClose={close}>
      <div class="help">
        <h2 id="help-title">Keys</h2>
        <dl class="help-keys">
          {KEYS.map(([keys, meaning]) => (
            <div key={keys} class="help-key">
              <dt>
                <kbd>{keys}</kbd>
              </dt>
              <dd>{meaning}</dd>
            </div>
          ))}
        </dl>
        <label class="choice">
          <input
            type="checkbox"
            checked={singleKeys.value}
            onChange={(event) => switchSingleKeys(event.currentTarget.checked)}
          />
          Use keys without Ctrl or ⌘
        </label>
        <form method="dialog">
          <button type="submit" class="button">
            Close
          </button>
        </form>
      </div>
    </dialog>
  );
}
