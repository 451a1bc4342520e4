import { printableJson } from "@convoke/protocol/internal";
import { useState } from "preact/hooks";
import { Loading, Problem } from "../kit/notices.tsx";
import { useResource } from "../server/resource.ts";
import { readCardFile } from "./card-file.ts";

/** The forms of a card, by what clients ask for. */
const FORMS = { "1.0": "1.0", "0.3": "0.3", hybrid: "Both versions in one (hybrid)" } as const;

type Form = keyof typeof FORMS;

/** The card as clients of each version receive it. */
export function RawCardPanel({ agentId }: { readonly agentId: string }) {
  const [form, setForm] = useState<Form>("1.0");
  return (
    <details class="card agent-section agent-raw">
      <summary>Card as JSON</summary>
      <label class="field">
        A2A version
        <select
          class="input"
          value={form}
          onChange={(event) => setForm(event.currentTarget.value as Form)}
        >
          {Object.entries(FORMS).map(([value, name]) => (
            <option key={value} value={value}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <RawCardText agentId={agentId} form={form} />
    </details>
  );
}

function RawCardText({ agentId, form }: { readonly agentId: string; readonly form: Form }) {
  const card = useResource(
    () => readCardFile(agentId, form === "hybrid" ? undefined : form),
    [agentId, form],
  );
  if (card.problem) return <Problem problem={card.problem} retry={card.reload} />;
  if (card.value === undefined) return <Loading />;
  return (
    <pre class="agent-json" tabIndex={0} aria-label="Card as JSON">
      {printableJson(card.value, 2)}
    </pre>
  );
}
