import { type ServedRequest, startScriptedModelServer } from "@convoke/runtime/testing";
import { obey, wordsOf } from "../agent-tree/obedient-model.ts";
import type { Work } from "../agent-tree/work.ts";
import { reportReady } from "../harness/report-ready.ts";

// The provider of the models: a process that no fault affects. Each model has the name of its agent,
// and does the work that its last message describes.

interface ChatMessage {
  readonly role: string;
  readonly content?: string | null | readonly { readonly text: string }[];
}

const { url } = await startScriptedModelServer(({ body }: ServedRequest) => {
  const messages = body["messages"] as readonly ChatMessage[];
  const place = messages.findLastIndex(({ role }) => role === "user");
  const since = messages.slice(place + 1);
  const answers = since.filter(({ role }) => role === "assistant").length;
  const heard = since.filter(({ role }) => role === "tool").map((result) => resultIn(result));
  return obey(String(body["model"]), workIn(messages[place]!), { answers, heard });
});
reportReady(url);

/** Concurrent messages of others come before the last part. */
function workIn({ content }: ChatMessage): Work {
  const text = Array.isArray(content) ? (content.at(-1)?.text ?? "") : content;
  return JSON.parse(String(text)) as Work;
}

/** The output of a tool is a text, that of a sub-agent an object. */
function resultIn({ content }: ChatMessage): string {
  const text = typeof content === "string" ? content : "";
  return wordsOf(text.startsWith("{") ? JSON.parse(text) : text);
}
