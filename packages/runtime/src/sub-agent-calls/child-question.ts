import {
  type A2APart,
  type Approval,
  type ApprovalOrigin,
  EXTENSIONS,
  type Message,
  type Task,
  checkApproval,
  textOfParts,
  textPart,
} from "@convoke/protocol";
import { type OpenRequest, markedPart, requestsIn } from "../approvals/open-request.ts";
import { webUrl } from "../tools/interrupts.ts";
import type { Interrupt, InterruptAnswer } from "../tools/tool.ts";
import type { ChildQuestion, ChildRequest } from "../sub-agents/sub-agent-events.ts";
import { createHash } from "node:crypto";
import { digestArguments } from "../approvals/gate.ts";

/** A question of a sub-agent, together with the interrupts that ask the caller of this task. */
export interface RelayedQuestion extends ChildQuestion {
  readonly interrupts: readonly Interrupt[];
}

export interface QuestionFacts {
  /** The name of the sub-agent in this agent's definition. */
  readonly name: string;
  readonly toolCallId: string;
  readonly number: number;
  readonly now: Date;
  /** Why the sub-agent rejected the last answer. */
  readonly problem?: string | undefined;
}

const MAX_REQUESTS = 64;

/**
 * Converts the question that a sub-agent's task is waiting on: its structured requests if it has
 * any, otherwise its text. Throws an `UnfitQuestion` if the question must not be relayed.
 */
export function relayedQuestion(task: Task, facts: QuestionFacts): RelayedQuestion {
  const { message } = task.status;
  const open = message === undefined ? [] : requestsIn(message);
  if (open.length > MAX_REQUESTS) {
    throw new UnfitQuestion(`it asked for ${open.length} things at once`);
  }
  const asked = open.map((request) => relayed(request, task, facts));
  const all = asked.length === 0 ? [inWords(task, message, facts)] : asked;
  return {
    number: facts.number,
    ...(message !== undefined && { messageId: message.messageId }),
    requests: all.map(({ request }) => request),
    interrupts: all.map(({ interrupt }) => interrupt),
  };
}

interface Relayed {
  readonly request: ChildRequest;
  readonly interrupt: Interrupt;
}

function relayed(open: OpenRequest, task: Task, facts: QuestionFacts): Relayed {
  const { name, toolCallId, number: question } = facts;
  const { requestId: childId } = open;
  const requestId = relayedId({ toolCallId, childTaskId: task.id, question, childId });
  if (open.kind === "approval") {
    const origin = { name, taskId: task.id };
    const approval = withProblem(
      relayedApproval(open.approval, { id: requestId, origin, now: facts.now }),
      facts,
    );
    const { digest } = approval;
    return {
      request: { requestId, kind: "approval", childId, digest },
      interrupt: { kind: "interrupt:approval", requestId, approval },
    };
  }
  if (open.kind === "tool-use") {
    throw new UnfitQuestion("it wants its caller to run a tool that was not offered to it");
  }
  const prompt = words(String(open.prompt ?? ""), facts);
  if (open.kind === "auth") {
    const url = webUrl(typeof open.url === "string" ? open.url : undefined);
    // Under a name of its own, so that it never gets a credential for a tool of this agent.
    const credential = open.credential && `${name}/${String(open.credential)}`;
    return {
      request: { requestId, kind: "auth", childId },
      interrupt: {
        kind: "interrupt:auth",
        requestId,
        prompt,
        ...(url !== undefined && { url }),
        ...(credential && { credential: credential.slice(0, MAX_CREDENTIAL) }),
      },
    };
  }
  const options = optionsOf(open.options);
  const sensitive = open.sensitive === true;
  return {
    request: { requestId, kind: "input", childId },
    interrupt: {
      kind: "interrupt:input",
      requestId,
      prompt,
      ...(options && { options }),
      ...(sensitive && { sensitive }),
    },
  };
}

/** Relays a question that consists of text only; it is answered with text. */
function inWords(task: Task, message: Message | undefined, facts: QuestionFacts): Relayed {
  const { toolCallId, number: question } = facts;
  const requestId = relayedId({ toolCallId, childTaskId: task.id, question, childId: "" });
  const said = message === undefined ? "" : textOfParts(message.parts).trim();
  if (task.status.state === "auth-required") {
    const prompt = words(said === "" ? "Sign in, so that it can go on." : said, facts);
    return {
      request: { requestId, kind: "auth" },
      interrupt: { kind: "interrupt:auth", requestId, prompt },
    };
  }
  const prompt = words(said === "" ? "How shall it go on?" : said, facts);
  return {
    request: { requestId, kind: "input" },
    interrupt: { kind: "interrupt:input", requestId, prompt },
  };
}

const MAX_PROMPT = 16_384;

const MAX_CREDENTIAL = 200;

/** Prefixes the prompt with the name of the agent that asks. */
function words(prompt: string, { name, problem }: QuestionFacts): string {
  const before = problem === undefined ? "" : `${name} did not take the answer: ${problem}\n`;
  return `${before}${name} asks: ${prompt}`.slice(0, MAX_PROMPT);
}

function withProblem(approval: Approval, { name, problem }: QuestionFacts): Approval {
  if (problem === undefined) return approval;
  const { prompt = "" } = approval;
  return { ...approval, prompt: `${name} did not take the answer: ${problem}\n${prompt}` };
}

const MAX_OPTIONS = 100;

function optionsOf(given: unknown): readonly string[] | undefined {
  if (!Array.isArray(given) || given.length === 0 || given.length > MAX_OPTIONS) return undefined;
  return given.every((option) => typeof option === "string") ? given : undefined;
}

/** The fields that together identify a request of a sub-agent. */
interface RelayedFacts {
  readonly toolCallId: string;
  readonly childTaskId: string;
  /** The number of the question within the call. Asking the same thing again is a new request. */
  readonly question: number;
  /** The id that the sub-agent gave the request. */
  readonly childId: string;
}

const MAX_CALL = 64;

/**
 * The id under which a sub-agent's request is relayed. It is unique across calls, sub-agents and
 * questions, identical in every attempt, and does not grow with the nesting depth.
 */
export function relayedId(facts: RelayedFacts): string {
  const { toolCallId, childTaskId, question, childId } = facts;
  const name = JSON.stringify([toolCallId, childTaskId, question, childId]);
  const digest = createHash("sha256").update(name).digest("base64url").slice(0, 22);
  return `${toolCallId.slice(0, MAX_CALL)}-${digest}`;
}

/** Thrown if a sub-agent asks for something that must not be relayed. */
export class UnfitQuestion extends Error {
  override readonly name = "UnfitQuestion";
}

const MAX_ORIGINS = 64;

/**
 * Converts a sub-agent's approval into one for our caller and adds the sub-agent to its origins.
 * The digest must match the arguments that are shown; otherwise the caller would approve something
 * else than what it sees.
 */
function relayedApproval(
  given: Approval,
  facts: { readonly id: string; readonly origin: ApprovalOrigin; readonly now: Date },
): Approval {
  const approval = checked(given);
  if (digestArguments(approval.tool.arguments) !== approval.digest) {
    throw new UnfitQuestion("it asked for an approval whose digest is not that of its arguments");
  }
  const { expiresAt, decision: _, ...rest } = approval;
  const from = [facts.origin, ...(approval.from ?? [])];
  if (from.length > MAX_ORIGINS) {
    throw new UnfitQuestion(`it asked for an approval that came through ${from.length} agents`);
  }
  // The sub-agent's clock decides: an approval that is expired by our clock may still be open
  // there.
  const isOver = expiresAt !== undefined && Date.parse(expiresAt) <= facts.now.getTime();
  return {
    ...rest,
    id: facts.id,
    options: offered(approval),
    from,
    ...(expiresAt !== undefined && !isOver && { expiresAt }),
  };
}

/**
 * Removes the option "always". The sub-agent may see all callers of this agent as one caller, so a
 * permanent grant by one of them would apply to all.
 */
function offered({ options }: Approval): Approval["options"] {
  const left = options.filter((option) => option !== "always");
  return left.length === 0 ? ["reject"] : left;
}

function checked(approval: Approval): Approval {
  try {
    return checkApproval(approval, "approval");
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new UnfitQuestion(`it asked for an approval that cannot be read: ${why}`);
  }
}

type Answers = ReadonlyMap<string, InterruptAnswer>;

export function isAnswered({ requests }: ChildQuestion, answers: Answers): boolean {
  return requests.every(({ requestId }) => answers.has(requestId));
}

/** Converts the answers into message parts for the sub-agent, using its own request ids. */
export function answerParts({ requests }: ChildQuestion, answers: Answers): readonly A2APart[] {
  return requests.flatMap((request) => {
    const answer = answers.get(request.requestId);
    return answer === undefined ? [] : partsOf(request, answer);
  });
}

function partsOf(request: ChildRequest, answer: InterruptAnswer): readonly A2APart[] {
  const { kind, childId } = request;
  if (childId === undefined) return answerInWords(answer);
  if (kind !== "approval") {
    return [{ kind: "data", data: { requestId: childId, value: answer.text } }];
  }
  // An approval can only be answered by a decision; without one it stays open.
  if (answer.decision === undefined) return [];
  const { option, feedback, arguments: edited } = answer.decision;
  const data = {
    approvalId: childId,
    digest: request.digest,
    option,
    ...(feedback !== undefined && { feedback }),
    ...(edited !== undefined && { arguments: edited }),
  };
  return [markedPart(EXTENSIONS.approvals.uri, "approval-answer", data)];
}

/**
 * Falls back to plain text if the answer is data with our request id, because that id means nothing
 * to an agent that asked in text.
 */
function answerInWords({ text, parts }: InterruptAnswer): readonly A2APart[] {
  const isOurs = parts.some((part) => part.kind === "data" && isNamed(part.data));
  return isOurs || parts.length === 0 ? [textPart(text)] : parts;
}

function isNamed(data: unknown): boolean {
  return typeof data === "object" && data !== null && "requestId" in data;
}
