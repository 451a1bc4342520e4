import type { Answer, Question } from "@convoke/client";
import { type Approval, type Message, type Task, openApprovals } from "@convoke/protocol";
import { openRequestsOf } from "@convoke/runtime";

/** Something that a task is waiting for. */
export type PendingRequest = PendingApproval | TextQuestion | SecretQuestion | SignInRequest;

interface PendingApproval {
  readonly kind: "approval";
  readonly id: string;
  readonly approval: Approval;
}

/** A question with a text answer. */
export interface TextQuestion extends RequestText {
  readonly kind: "words";
  readonly options?: readonly string[] | undefined;
}

/** A question whose answer is secret: the host and its model must not see it. */
interface SecretQuestion extends RequestText {
  readonly kind: "secret";
}

/** The user must sign in somewhere. */
interface SignInRequest extends RequestText {
  readonly kind: "sign-in";
  readonly url?: string | undefined;
}

interface RequestText {
  readonly id: string;
  readonly text: string;
  /** The id that an answer refers to, if there are several questions at once. */
  readonly requestId?: string | undefined;
}

type Fields = Readonly<Record<string, unknown>>;

/** Everything that the agent is waiting for; empty if it is not waiting. */
export function pendingRequests({ task, question }: Answer, now: Date): readonly PendingRequest[] {
  if (task === undefined || question === undefined) return [];
  const approvals = openApprovals(task, now).map((approval): PendingRequest => ({
    kind: "approval",
    id: approval.id,
    approval,
  }));
  const asked = [...approvals, ...questionsOf(task)];
  const [only, ...others] = asked;
  if (only === undefined) return [plainQuestion(question)];
  // The status text says more than a single request, for example what was wrong with the last answer.
  if (only.kind === "words" && others.length === 0) return [{ ...only, text: question.text }];
  return asked;
}

/** The question of an agent that asks with plain text. */
function plainQuestion({ kind, text, options, message }: Question): PendingRequest {
  const id = "answer";
  if (isSecret(message)) return { kind: "secret", id, text };
  if (kind === "auth-required") return { kind: "sign-in", id, text, url: urlIn(message) };
  return { kind: "words", id, text, options };
}

/** The questions that Convoke agents send as data, each with an id. Other agents may send anything there. */
function questionsOf(task: Task): readonly PendingRequest[] {
  return openRequestsOf(task).flatMap((request): readonly PendingRequest[] => {
    if (request.kind !== "input" && request.kind !== "auth") return [];
    const { requestId, prompt, options, sensitive, url }: Fields = { ...request };
    const id = String(requestId);
    const about = { id, requestId: id, text: typeof prompt === "string" ? prompt : "" };
    if (sensitive === true) return [{ kind: "secret", ...about }];
    if (request.kind === "auth") return [{ kind: "sign-in", ...about, url: webUrl(url) }];
    return [{ kind: "words", ...about, options: textsIn(options) }];
  });
}

/** Other agents may mark a secret in any of their data. */
function isSecret(message: Message | undefined): boolean {
  const data = (message?.parts ?? []).map((part) => (part.kind === "data" ? part.data : undefined));
  return [message?.metadata, ...data].map(fieldsOf).some((fields) => {
    const inner = fieldsOf(fields["inputRequest"]);
    return fields["sensitive"] === true || inner["sensitive"] === true;
  });
}

function textsIn(value: unknown): readonly string[] | undefined {
  if (!Array.isArray(value) || value.length === 0) return undefined;
  return value.every((text) => typeof text === "string") ? value : undefined;
}

function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}

const MAX_URL = 2000;

/** A URL that is safe to open. An agent could send others, such as `javascript:`. */
export function webUrl(value: unknown): string | undefined {
  if (typeof value !== "string" || value.length > MAX_URL) return undefined;
  const url = URL.parse(value);
  return url?.protocol === "https:" || url?.protocol === "http:" ? url.href : undefined;
}

/** A2A has no field for the sign-in URL; agents put it into data or into the text. */
function urlIn(message: Message | undefined): string | undefined {
  const parts = message?.parts ?? [];
  const data = parts.flatMap((part) => (part.kind === "data" ? stringsIn(part.data) : []));
  const words = parts.flatMap((part) => (part.kind === "text" ? part.text.split(/\s+/) : []));
  return [...data, ...words].map(webUrl).find((url) => url !== undefined);
}

function stringsIn(value: unknown): readonly string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(stringsIn) : [];
}
