import { type A2APart, EXTENSIONS, type Message, type Turn } from "@convoke/protocol";
import { GRANT_ID } from "../approvals/grants.ts";
import { requestsIn } from "../approvals/open-request.ts";
import { asksForToolsOnly } from "../client-tools/unanswered.ts";
import type { AssistantContent, TranscriptEntry } from "../models/model.ts";

/** Marks statuses that only say how far a tool is. */
const PROGRESS_ID = /-progress-\d+$/;

/** What was said before the turn and the message that began it, as a model is told. */
export function openingTranscript(turn: Turn): readonly TranscriptEntry[] {
  return [...turn.conversation, turn.message].reduce<readonly TranscriptEntry[]>(
    (entries, message) => withMessage(entries, message),
    [],
  );
}

/** The transcript with one more message. Neighbours of one speaker become one entry: some providers want turns. */
export function withMessage(
  entries: readonly TranscriptEntry[],
  message: Message,
): readonly TranscriptEntry[] {
  const last = entries.at(-1);
  if (message.role === "user") {
    const parts = message.parts.filter((part) => !isForPrograms(part));
    if (parts.length === 0) return entries;
    return last?.role === "user"
      ? entries.with(-1, { role: "user", parts: [...last.parts, ...parts] })
      : [...entries, { role: "user", parts }];
  }
  const content = assistantContent(message);
  if (content.length === 0) return entries;
  return last?.role === "assistant"
    ? entries.with(-1, { role: "assistant", content: [...last.content, ...content] })
    : [...entries, { role: "assistant", content }];
}

/** What the agent said, without what it only said about its work. */
function assistantContent(message: Message): readonly AssistantContent[] {
  const { messageId, parts } = message;
  if (PROGRESS_ID.test(messageId) || GRANT_ID.test(messageId)) return [];
  // A model that reads how its calls were put in words would say such words instead of calling.
  if (asksForToolsOnly(requestsIn(message))) return [];
  const text = parts
    .filter((part) => !isForPrograms(part))
    .map(textOfPart)
    .filter((piece) => piece !== "")
    .join("\n");
  return text === "" ? [] : [{ kind: "text", text }];
}

/** Questions and decisions in the form that programs read stand beside the same in words. */
function isForPrograms({ metadata }: A2APart): boolean {
  const { approvals, clientTools } = EXTENSIONS;
  return metadata?.[approvals.uri] !== undefined || metadata?.[clientTools.uri] !== undefined;
}

function textOfPart(part: A2APart): string {
  if (part.kind === "text") return part.text;
  if (part.kind === "data") return JSON.stringify(part.data);
  return `[file ${part.file.name ?? part.file.uri ?? "without a name"}]`;
}
