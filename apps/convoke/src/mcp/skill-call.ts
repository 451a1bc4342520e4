import type { Answer, RemoteAgent } from "@convoke/client";
import { type A2APart, EXTENSIONS, isInterrupted, isTerminal, textPart } from "@convoke/protocol";
import {
  type CallToolResult,
  type InputRequests,
  type InputRequiredResult,
  type ServerContext,
  inputRequired,
} from "@modelcontextprotocol/server";
import { type PendingRequest, pendingRequests } from "./questions.ts";
import { callResult, failedResult } from "./call-result.ts";
import { approvalDecision, elicitations } from "./elicitations.ts";
import type { Host, OpenCalls, Responses } from "./host.ts";
import type { SkillTool } from "./skill-tools.ts";
import type { ToolInput } from "./tool-list.ts";
import { type OtherCommands, waitingText } from "./waiting-text.ts";
import { AgentTurns, type AgentTurnsOptions } from "./agent-turns.ts";

export interface SkillCallOptions extends AgentTurnsOptions {
  readonly tool: SkillTool;
  readonly input: ToolInput;
  readonly host: Host;
  readonly calls: OpenCalls;
  readonly elsewhere: OtherCommands;
}

type Result = CallToolResult | InputRequiredResult;

/** One tool call: sends the message to the agent, and passes its questions to the host. */
export class SkillCall {
  readonly #options: SkillCallOptions;
  readonly #agent: RemoteAgent;
  readonly #context: ServerContext["mcpReq"];
  readonly #turns: AgentTurns;

  constructor(options: SkillCallOptions) {
    this.#options = options;
    this.#agent = options.agent;
    this.#context = options.context.mcpReq;
    this.#turns = new AgentTurns(options);
  }

  async run(): Promise<Result> {
    try {
      const state = readState(this.#context.requestState());
      if (state === undefined) return await this.#begin();
      this.#options.calls.answered(state.taskId);
      return await this.#goOn(state, this.#context.inputResponses ?? {});
    } finally {
      this.#turns.close();
    }
  }

  async #begin(): Promise<Result> {
    const { tool, input } = this.#options;
    const { message, contextId, taskId } = input;
    if (taskId !== undefined) return this.#join(taskId, input);
    const said = this.#turns.messageFor(message, tool.skill);
    return this.#bring(await this.#turns.say(said, { contextId }));
  }

  /** Continues an existing task, or waits for it if the message is empty. */
  async #join(taskId: string, { message, contextId }: ToolInput): Promise<Result> {
    const { signal } = this.#context;
    const task = await this.#agent.get(taskId, { historyLength: 0, signal });
    const { state } = task.status;
    if (message.trim() === "") return this.#bring(await this.#turns.look(taskId));
    if (isTerminal(state)) {
      const advice = `leave taskId out, and give contextId ${JSON.stringify(task.contextId)} to continue the conversation`;
      return failedResult(`taskId: the task is already ${state}; ${advice}.`);
    }
    if (isInterrupted(state)) {
      const answer = await this.#turns.look(taskId);
      const isForPeople = askedOf(answer).some(
        ({ kind }) => kind === "approval" || kind === "secret",
      );
      // A model must not decide approvals, and must not handle secrets.
      if (isForPeople) return this.#bring(answer, { remark: "The message was not sent." });
    }
    return this.#bring(await this.#turns.say(message, { contextId, taskId }));
  }

  /** Handles the answers of the user, if the question is still the same. */
  async #goOn(state: QuestionState, responses: Responses): Promise<Result> {
    const { taskId, messageId, wasVisited } = state;
    const answer = await this.#turns.look(taskId);
    if (answer.question?.message?.messageId !== messageId) return this.#bring(answer);
    const asked = askedOf(answer);
    const parts = answerParts(asked, responses, wasVisited);
    if (parts.length > 0) return this.#bring(await this.#turns.say(parts, { taskId }));
    if (!wasVisited && hasVisited(asked, responses)) {
      return this.#bring(answer, { wasVisited: true });
    }
    return callResult(answer, this.#waiting(asked, taskId));
  }

  /** Returns the result, or asks the host to pass on the questions of the agent. */
  async #bring(
    answer: Answer,
    {
      remark,
      wasVisited = false,
    }: { readonly remark?: string; readonly wasVisited?: boolean } = {},
  ): Promise<Result> {
    const { host, calls } = this.#options;
    const { task, question } = answer;
    const asked = askedOf(answer);
    if (task === undefined || asked.length === 0) return callResult(answer, remark);
    const requests = elicitations(asked, host, wasVisited);
    if (Object.keys(requests).length === 0) {
      const words = this.#waiting(asked, task.id);
      return callResult(answer, remark === undefined ? words : `${remark} ${words}`);
    }
    const state = { taskId: task.id, messageId: question?.message?.messageId, wasVisited };
    if (host.ask !== undefined) return this.#goOn(state, await this.#askNow(requests, task.id));
    calls.asked(task.id);
    return inputRequired({ inputRequests: requests, requestState: writeState(state) });
  }

  async #askNow(requests: InputRequests, taskId: string): Promise<Responses> {
    try {
      return (await this.#options.host.ask?.(requests)) ?? {};
    } catch (error) {
      // The host canceled the call while the user was answering.
      await this.#agent.cancel(taskId).catch(() => undefined);
      throw error;
    }
  }

  #waiting(asked: readonly PendingRequest[], taskId: string): string {
    const { tool, elsewhere } = this.#options;
    return waitingText(asked, { ...elsewhere, tool: tool.name, taskId });
  }
}

function askedOf(answer: Answer): readonly PendingRequest[] {
  return pendingRequests(answer, new Date());
}

interface Response {
  /** `accept`, `decline` or `cancel`; anything else counts as `cancel`. */
  readonly action: string;
  readonly content: Readonly<Record<string, unknown>>;
}

/** The answers of the user as parts for the agent; empty for questions left open. */
function answerParts(
  asked: readonly PendingRequest[],
  responses: Responses,
  wasVisited: boolean,
): readonly A2APart[] {
  return asked.flatMap((one): readonly A2APart[] => {
    const { action, content } = responseOf(responses[one.id]);
    switch (one.kind) {
      case "approval": {
        const data = approvalDecision(one.approval, action, content);
        const metadata = { [EXTENSIONS.approvals.uri]: { type: "approval-answer" } };
        return data === undefined ? [] : [{ kind: "data", data, metadata }];
      }
      case "words": {
        const { answer } = content;
        return action === "accept" && typeof answer === "string" ? [wordsFor(one, answer)] : [];
      }
      case "sign-in": {
        const isDone = action === "accept" && content["done"] !== false;
        return isDone && (wasVisited || one.url === undefined) ? [wordsFor(one, "done")] : [];
      }
      case "secret":
        return [];
      default:
        return one satisfies never;
    }
  });
}

/** Whether the user opened the sign-in URL, so that the next question is whether it is done. */
function hasVisited(asked: readonly PendingRequest[], responses: Responses): boolean {
  return asked.some(
    (one) =>
      one.kind === "sign-in" &&
      one.url !== undefined &&
      responseOf(responses[one.id]).action === "accept",
  );
}

/** The answer to a question. With an id, other questions stay open. */
function wordsFor(
  { requestId }: { readonly requestId?: string | undefined },
  text: string,
): A2APart {
  return requestId === undefined
    ? textPart(text)
    : { kind: "data", data: { requestId, value: text } };
}

function responseOf(response: unknown): Response {
  const { action, content } = fieldsOf(response);
  return { action: typeof action === "string" ? action : "cancel", content: fieldsOf(content) };
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

/** The question that the host is asking. The host returns this state with the answer. */
interface QuestionState {
  readonly taskId: string;
  /** The message with the question. If it has changed, the answer no longer applies. */
  readonly messageId: string | undefined;
  /** Whether the user has opened the sign-in URL. */
  readonly wasVisited: boolean;
}

function writeState(state: QuestionState): string {
  return JSON.stringify(state);
}

/**
 * Parses the state that the host returned, which may be anything. It needs no signature: it names a
 * task just as the argument `taskId` does, and the answer applies to the current question only.
 */
function readState(state: unknown): QuestionState | undefined {
  if (typeof state !== "string") return undefined;
  try {
    const { taskId, messageId, wasVisited } = JSON.parse(state) as Partial<QuestionState>;
    if (typeof taskId !== "string" || taskId === "") return undefined;
    return { taskId, messageId, wasVisited: wasVisited === true };
  } catch {
    return undefined;
  }
}
