import { fileURLToPath } from "node:url";
import { resultText, standIn } from "../stand-in.ts";

const call = (toolName: string, input: object) => ({ kind: "tool-call", toolName, input }) as const;

/** Plays the model without a key: it closes the open issues that the notes of a release name. */
export const clerkStandIn = standIn(({ text, results }) => {
  const release = /\d+\.\d+/.exec(text)?.[0];
  if (release === undefined) return "Which release?";
  const notes = resultText(results.get("files__read_text_file"));
  const issues = resultText(results.get("tracker__list_issues"));
  if (notes === undefined || issues === undefined) {
    const path = fileURLToPath(new URL(`notes/${release}.md`, import.meta.url));
    return [call("files__read_text_file", { path }), call("tracker__list_issues", {})];
  }
  const closed = resultText(results.get("tracker__close_issue"));
  if (closed !== undefined) return `Release ${release}: ${closed}`;
  const fixed = Array.from(notes.matchAll(/#(\d+)/g), ([, number]) => number);
  const open = fixed.find((number) => issues.includes(`"number":${number},`));
  if (open === undefined) return `No open issue is fixed in ${release}.`;
  return call("tracker__close_issue", { number: Number(open) });
});
