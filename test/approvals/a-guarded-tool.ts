import { type Tool, tool } from "@convoke/runtime";

/** A tool that needs an approval, and the arguments it was actually called with. */
export function aGuardedTool(more: Partial<Parameters<typeof tool>[0]> = {}): {
  readonly guarded: Tool;
  readonly ran: unknown[];
} {
  const ran: unknown[] = [];
  const guarded = tool({
    name: "delete",
    description: "Deletes a file.",
    inputSchema: { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
    confirm: "ask",
    run: (input) => {
      ran.push(input);
      return "deleted";
    },
    ...more,
  });
  return { guarded, ran };
}
