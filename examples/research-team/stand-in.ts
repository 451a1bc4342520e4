import { standIn } from "../stand-in.ts";

const RESEARCHERS = ["papers", "market", "press"];

/** Plays the model of the planner without a key: it asks everyone, and writes down what they found. */
export const plannerStandIn = standIn(({ text, results }) => {
  if (!RESEARCHERS.every((name) => results.has(name))) {
    return RESEARCHERS.map(
      (toolName) => ({ kind: "tool-call", toolName, input: { message: text } }) as const,
    );
  }
  if (results.has("write_report")) return "The report is ready.";
  const findings = RESEARCHERS.flatMap((name) => findingsIn(results.get(name)));
  if (findings.length === 0) return "Nobody has found anything.";
  return { kind: "tool-call", toolName: "write_report", input: { title: text, findings } };
});

/** Researchers answer with lines such as `- A finding. <https://its.source>`. */
function findingsIn(result: unknown): readonly object[] {
  const { artifacts = [] } = result as { readonly artifacts?: readonly { text?: string }[] };
  const text = artifacts.map((artifact) => artifact.text ?? "").join("\n");
  return Array.from(text.matchAll(/^- (.+) <(\S+)>$/gm), ([, finding, source]) => ({
    text: finding,
    source,
  }));
}
