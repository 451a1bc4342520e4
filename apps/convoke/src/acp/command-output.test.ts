import { expect, test } from "vitest";
import { commandText, runsCommand, terminalKey } from "./command-output.ts";
import type { ReportedCall } from "./reports.ts";

const call: ReportedCall = {
  name: "run_shell",
  status: "in_progress",
  input: { command: "npm test" },
  output: "\u001B[32mok\u001B[39m ``` \n",
};

test("an editor without terminals gets the output of a command as text without colours, and then how it ended", () => {
  const block = "````\nok ``` \n````";
  const ended = (result: object) => commandText({ ...call, status: "completed", result });

  expect(commandText(call)).toBe(block);
  expect(ended({ exitCode: 3, output: "" })).toBe(`${block}\nExit code 3`);
  expect(ended({ exitCode: null, signal: "SIGTERM", timedOut: true })).toBe(
    `${block}\nThe time limit was reached.\nEnded by SIGTERM`,
  );
  expect(commandText({ ...call, status: "failed", error: "It was rejected." })).toBe(
    `${block}\nIt was rejected.`,
  );
  expect(commandText({ ...call, output: "x".repeat(1_000_000) }).length).toBeLessThan(20_000);
});

test("only commands that run to their end have terminals, and only in editors that show them", () => {
  expect(runsCommand(call)).toBe(true);
  expect(runsCommand({ ...call, input: { command: "npm start", background: true } })).toBe(false);
  expect(runsCommand({ name: "shell_output", input: { processId: "1" } })).toBe(false);

  expect(terminalKey({ _meta: { terminal_output: true } })).toBe("terminal_output");
  expect(terminalKey({ _meta: { terminal_output_delta: true } })).toBe("terminal_output_delta");
  expect(terminalKey({ terminal: true })).toBeUndefined();
});
