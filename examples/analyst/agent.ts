import { type Agent, type ModelSpec, defineAgent, tool } from "convoke";
import { COLUMNS, DIMENSIONS, type Dimension, SALES, totalsBy } from "./sales.ts";

const lookAtSales = tool({
  name: "look_at_sales",
  description: "Says which columns the sales have, and shows the first rows.",
  idempotent: true,
  run: () => ({ columns: COLUMNS, rows: SALES.length, first: SALES.slice(0, 3) }),
});

const addUpSales = tool({
  name: "add_up_sales",
  description: "Adds up units and revenue by month, region or product.",
  inputSchema: {
    type: "object",
    properties: {
      by: { enum: DIMENSIONS, description: "What each total is of." },
      product: { type: "string", description: "Of this product alone." },
    },
    required: ["by"],
  },
  idempotent: true,
  async *run(input, { taskId, contextId, toolCallId }) {
    const { by, product } = input as { readonly by: Dimension; readonly product?: string };
    yield { kind: "tool:progress", text: `Adding up ${SALES.length} sales by ${by}.` };
    const totals = totalsBy(by, product);
    const table = totals.map(({ name, units, revenue }) => `${name},${units},${revenue}`);
    const text = [`${by},units,revenue`, ...table].join("\n");
    // The user gets a table as an artifact; the model gets the numbers.
    const artifact = {
      artifactId: `totals-${toolCallId}`,
      name: `sales-by-${by}.csv`,
      parts: [{ kind: "text", text, mediaType: "text/csv" }],
    } as const;
    const event = { kind: "artifact-update", taskId, contextId, artifact, lastChunk: true };
    yield { kind: "tool:event", event };
    return totals;
  },
});

/** Answers questions about the sales of a small shop, with any model. */
export function analyst(model: ModelSpec): Agent {
  return defineAgent({
    name: "Analyst",
    description: "Answers questions about the sales of a small shop.",
    model,
    instructions: "Answer in one or two sentences, with numbers. Never guess: use the tools.",
    tools: [lookAtSales, addUpSales],
    budget: { iterations: 8, toolCalls: 20 },
  });
}

export default analyst(process.env["MODEL"] ?? "demo");
