import { type ConfirmRule, type Tool, type ToolContext, tool } from "@convoke/runtime";
import { stripVTControlCharacters } from "node:util";
import { sessionKey } from "../storage/session-key.ts";
import type { BackgroundProcesses } from "./background-processes.ts";

interface InputOfProcess {
  readonly text?: string;
  readonly close?: boolean;
}

/** The rule of a tool that reads, or does something else. */
type RuleFor = (name: string, kind: "read" | "other") => ConfirmRule;

/** `shell_output`, `shell_input` and `shell_kill`. */
export function backgroundTools(processes: BackgroundProcesses, ruleFor: RuleFor): readonly Tool[] {
  const ownerOf = ({ caller, contextId }: ToolContext) => sessionKey(caller, contextId);
  const processId = { type: "string", description: "From run_shell." } as const;
  return [
    tool({
      name: "shell_output",
      description: "Returns what a background process printed since the last call.",
      inputSchema: { type: "object", properties: { processId }, required: ["processId"] },
      confirm: ruleFor("shell_output", "read"),
      run: ({ processId: id }, context) => {
        const { output, end } = processes.read(String(id), ownerOf(context));
        return { output: stripVTControlCharacters(output), isRunning: end === undefined, ...end };
      },
    }),
    tool({
      name: "shell_input",
      description: "Writes to the input of a background process, and closes it with `close`.",
      inputSchema: {
        type: "object",
        properties: { processId, text: { type: "string" }, close: { type: "boolean" } },
        required: ["processId"],
      },
      confirm: ruleFor("shell_input", "other"),
      run: (input, context) => {
        const { text, close } = input as InputOfProcess;
        const process = processes.process(String(input["processId"]), ownerOf(context));
        if (text !== undefined && !process.write(text)) {
          throw new Error("the process does not read its input any more");
        }
        if (close === true) process.closeInput();
        return "written";
      },
    }),
    tool({
      name: "shell_kill",
      description: "Ends a background process and everything it started.",
      inputSchema: { type: "object", properties: { processId }, required: ["processId"] },
      confirm: ruleFor("shell_kill", "read"),
      run: async ({ processId: id }, context) => {
        const process = processes.process(String(id), ownerOf(context));
        await process.stop();
        return process.end;
      },
    }),
  ];
}
