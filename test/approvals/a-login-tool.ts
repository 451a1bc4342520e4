import { type Tool, type ToolContext, inputRequired, tool } from "@convoke/runtime";

/** Logs in with a password, and is careless with it: it repeats it everywhere. */
export function aLoginTool(): { readonly login: Tool; readonly passwords: string[] } {
  const passwords: string[] = [];
  const login = tool({
    name: "login",
    description: "Logs in.",
    inputSchema: { type: "object", properties: {} },
    async *run(_, { answers }: ToolContext) {
      const password = answers.get("password")?.text;
      if (password === undefined) {
        yield inputRequired("Password?", { requestId: "password", sensitive: true });
        return;
      }
      passwords.push(password);
      yield { kind: "tool:progress", text: `trying ${password}` };
      if (password.startsWith("wrong")) throw new Error(`${password} is wrong`);
      yield `logged in with ${password}`;
    },
  });
  return { login, passwords };
}
