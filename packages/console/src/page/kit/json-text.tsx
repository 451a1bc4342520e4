import { printableJson } from "@convoke/protocol/internal";

/** Longer JSON is cut here: the page has to stay usable. */
const MAX_SHOWN = 100_000;

/** JSON as text, with invisible characters as escapes. */
export function JsonText({ value, label }: { readonly value: unknown; readonly label: string }) {
  const text = printableJson(value ?? null, 2);
  return (
    <pre class="json-text" tabIndex={0} role="region" aria-label={label}>
      {text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text}
    </pre>
  );
}
