import { type Agent, defineAgent } from "convoke";
import { type Publication, search } from "./library.ts";

/** Reads publications of one kind. It has no model; it could be anyone's agent, in any language. */
function researcher(name: string, kind: Publication["kind"], description: string): Agent {
  return defineAgent({
    id: name.toLowerCase(),
    name,
    description,
    async *run({ text, status, step }) {
      const found = await step("search", () => search(kind, text), { idempotent: true });
      if (found.length === 0) return "I found nothing.";
      for (const { title, finding, url } of found) {
        yield status(`Reading “${title}”.`);
        yield `- ${finding} <${url}>\n`;
      }
      return undefined;
    },
  });
}

export const papers = researcher("Papers", "paper", "Finds scientific papers on a question.");
export const market = researcher("Market", "market", "Finds figures of markets on a question.");
export const press = researcher("Press", "press", "Finds articles of newspapers on a question.");
