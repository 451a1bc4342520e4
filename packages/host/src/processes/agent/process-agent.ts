import { withDialects } from "@convoke/coder/internal";
import type { Agent, AgentEnvironment } from "@convoke/protocol";
import { acceptAnswer } from "@convoke/runtime";
import { type ProcessAgentOptions, readProcessOptions } from "../program/process-options.ts";
import { ProgramSessions } from "../sessions/program-sessions.ts";
import { ProgramTurn } from "./program-turn.ts";

/**
 * Makes an agent of a program: of a coding agent that speaks the Agent Client Protocol, or of any
 * program that reads and writes JSON lines. Each conversation has a process of its own.
 *
 * @example
 * import { processAgent, serve } from "convoke";
 *
 * const agent = processAgent({
 *   name: "gemini",
 *   description: "The Gemini CLI in my project",
 *   command: "gemini",
 *   args: ["--acp"],
 *   protocol: "acp",
 *   workspace: "/home/me/project",
 *   env: { GEMINI_API_KEY: process.env["GEMINI_API_KEY"] ?? "" },
 * });
 * await serve(agent, { data: "/var/lib/gemini-agent" });
 */
export function processAgent(options: ProcessAgentOptions): Agent {
  const { settings, card } = readProcessOptions(options);
  let place: AgentEnvironment = {};
  let sessions: ProgramSessions | undefined;
  const open = (): ProgramSessions => (sessions ??= new ProgramSessions(settings, place));
  const agent: Agent = {
    ...(card.id !== undefined && { id: card.id }),
    info: card.info,
    accept: (task, message, at) => acceptAnswer(task, message, { now: at }),
    run: (turn) => {
      const warn = place.logger?.warn.bind(place.logger) ?? (() => undefined);
      return new ProgramTurn(turn, { sessions: open(), settings, warn }).run();
    },
    abandon: (task) => void sessions?.stopTask(task.id),
    erase: (scope) => open().erase(scope),
    prepare: (given) => {
      place = given;
      // At once, so that processes that a crash left behind are ended.
      open();
    },
    [Symbol.asyncDispose]: async () => {
      await sessions?.close();
      sessions = undefined;
    },
  };
  return withDialects(agent);
}
