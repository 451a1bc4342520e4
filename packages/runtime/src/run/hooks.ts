import type { AgentEvent, Metadata, Turn } from "@convoke/protocol";
import type { AssistantContent, ModelEvent, ModelRequest } from "../model/model.ts";
import type { Tool } from "../tools/tool.ts";

/** Stops what was about to happen; the text is for the model or the caller. */
export interface Veto {
  readonly veto: string;
}

type OrPromise<T> = T | Promise<T>;

/** Hooks for the author of an agent. A hook that returns nothing changes nothing; one that throws fails the task. */
export interface LoopHooks {
  /** May change the request, or veto it: then the task is rejected with the text. */
  readonly beforeModel?: (
    request: ModelRequest,
    turn: Turn,
  ) => OrPromise<ModelRequest | Veto | void>;
  /** May change the model's answer, or veto it: then the task is rejected with the text. */
  readonly afterModel?: (
    content: readonly AssistantContent[],
    turn: Turn,
  ) => OrPromise<readonly AssistantContent[] | Veto | void>;
  /** May change the arguments, before approval, or veto the call: then the model gets the text. */
  readonly beforeTool?: (
    call: HookedCall,
    turn: Turn,
  ) => OrPromise<{ readonly input: Metadata } | Veto | void>;
  /** May change the result before the model gets it. */
  readonly afterTool?: (
    call: HookedCall & HookedResult,
    turn: Turn,
  ) => OrPromise<HookedResult | void>;
  /** Which tools this turn has. Default: all. */
  readonly toolFilter?: (tool: Tool, turn: Turn) => boolean;
  /**
   * Sees every event before it is written, and may change it, add to it or drop it. The loop's own
   * journal events are always written, because the task resumes from them. So is a status that ends
   * the task or asks a question.
   */
  readonly transformEvent?: (
    event: AgentEvent,
    turn: Turn,
  ) => AgentEvent | readonly AgentEvent[] | undefined | void;
  /** Turns a model event, such as a piece of reasoning, into additional events of the task. */
  readonly modelEvent?: (
    event: ModelEvent,
    turn: Turn,
  ) => AgentEvent | readonly AgentEvent[] | undefined | void;
}

export interface HookedCall {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly input: Metadata;
}

export interface HookedResult {
  readonly output: unknown;
  readonly isError: boolean;
}

/** A hook failed. The server's log has the cause. */
class HookError extends Error {
  override readonly name = "HookError";
}

/** Calls a hook, if there is one. */
export async function callHook<T>(
  name: string,
  call: () => OrPromise<T | void>,
): Promise<T | undefined> {
  try {
    return (await call()) ?? undefined;
  } catch (cause) {
    throw new HookError(`the agent's own ${name} failed`, { cause });
  }
}

/** The same for synchronous hooks. */
export function callHookNow<T>(name: string, call: () => T): T {
  try {
    return call();
  } catch (cause) {
    throw new HookError(`the agent's own ${name} failed`, { cause });
  }
}

export function isVeto(value: unknown): value is Veto {
  return typeof (value as Veto | null | undefined)?.veto === "string";
}
