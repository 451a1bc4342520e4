import { printableJson } from "@convoke/protocol/internal";
import { useState } from "preact/hooks";
import { Loading, Problem } from "../kit/notices.tsx";
import type { AgentSummary } from "../server/about.ts";
import { useResource } from "../server/resource.ts";
import { readCardFile } from "./card-file.ts";

/** The forms of a card, by what clients ask for. */
const FORMS = {
  remote: "As the remote agent wrote it",
  "1.0": "1.0",
  "0.3": "0.3",
  hybrid: "Both versions in one (hybrid)",
} as const;

type Form = keyof typeof FORMS;

/** The card as clients of each version receive it. */
export function RawCardPanel({ agent }: { readonly agent: AgentSummary }) {
  const [form, setForm] = useState<Form>(agent.remote ? "remote" : "1.0");
  const forms = Object.entries(FORMS).filter(([value]) => value !== "remote" || agent.remote);
  return (
    <details class="card agent-section agent-raw">
      <summary>Card as JSON</summary>
      <label class="field">
        Form
        <select
          class="input"
          value={form}
          onChange={(event) => setForm(event.currentTarget.value as Form)}
        >
          {forms.map(([value, name]) => (
            <option key={value} value={value}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <RawCardText agent={agent} form={form} />
    </details>
  );
}

function RawCardText({ agent, form }: { readonly agent: AgentSummary; readonly form: Form }) {
  const card = useResource(async () => {
    if (form === "remote") return agent.remote?.card ?? {};
    return readCardFile(agent.id, form === "hybrid" ? undefined : form);
  }, [agent.id, form]);
  if (card.problem) return <Problem problem={card.problem} retry={card.reload} />;
  if (card.value === undefined) return <Loading />;
  return (
    <pre class="agent-json" tabIndex={0} aria-label="Card as JSON">
      {printableJson(card.value, 2)}
    </pre>
  );
}
