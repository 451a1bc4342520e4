import { useEffect, useState } from "preact/hooks";
import { Icon } from "./icon.tsx";

/** How long the button says that it has copied. */
const DONE_MS = 1500;

interface CopyButtonProps {
  readonly text: string | (() => string);
  /** What is copied, such as "Copy the task id". */
  readonly label: string;
}

/** Copies a text. Browsers allow that on secure connections only; elsewhere there is no button. */
export function CopyButton({ text, label }: CopyButtonProps) {
  const [isDone, setDone] = useState(false);
  useEffect(() => {
    if (!isDone) return undefined;
    const timer = setTimeout(() => setDone(false), DONE_MS);
    return () => clearTimeout(timer);
  }, [isDone]);
  if (!globalThis.isSecureContext) return null;
  const copy = (): void => {
    const copied = navigator.clipboard.writeText(typeof text === "string" ? text : text());
    copied.then(
      () => setDone(true),
      () => setDone(false),
    );
  };
  return (
    <button type="button" class="copy" title={label} aria-label={label} onClick={copy}>
      <Icon name={isDone ? "check" : "copy"} size={14} />
      <span class="visually-hidden" role="status">
        {isDone ? "Copied" : ""}
      </span>
    </button>
  );
}
