import { useState } from "preact/hooks";
import { Icon } from "./icon.tsx";

/** Copies a text, and says for a moment that it did. */
export function CopyButton({
  text,
  label = "Copy",
}: {
  readonly text: string;
  readonly label?: string;
}) {
  const [isCopied, setCopied] = useState(false);
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(text);
    setCopied(true);
    setTimeout(() => setCopied(false), 1500);
  };
  return (
    <button type="button" class="button quiet copy-button" onClick={() => void copy()}>
      <Icon name={isCopied ? "check" : "copy"} size={14} />
      <span aria-live="polite">{isCopied ? "Copied" : label}</span>
    </button>
  );
}
