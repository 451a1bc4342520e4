import {
  Checkpoints,
  type FileAction,
  type FilePolicy,
  Workspace,
  createFileTools,
} from "@convoke/coder";
import type { Turn } from "@convoke/protocol";
import type { ApprovalWords, Tool, ToolContext } from "@convoke/runtime";
import { realpathSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { temporaryFolder } from "../start/temporary-folder.ts";

type Caller = ToolContext["caller"];

/** The caller of a server without authentication, so that its clients share conversations with it. */
export const CALLER = { owner: "anonymous" } as Caller;

/** A workspace in a folder of its own, and calls of its file tools as the runtime makes them. */
export class TestWorkspace {
  readonly root: string;
  readonly data: string;
  readonly workspace: Workspace;
  readonly checkpoints: Checkpoints;
  readonly tools: ReadonlyMap<string, Tool>;
  /** What the policy was asked about. */
  readonly actions: FileAction[] = [];
  /** The artifacts that the last call has produced. */
  artifacts: unknown[] = [];

  private constructor(
    root: string,
    data: string,
    made: { workspace: Workspace; checkpoints: Checkpoints; policy: FilePolicy },
  ) {
    this.root = root;
    this.data = data;
    this.workspace = made.workspace;
    this.checkpoints = made.checkpoints;
    const policy: FilePolicy = (action) => {
      this.actions.push(action);
      return made.policy(action);
    };
    const tools = createFileTools({ ...made, policy, folder: data });
    this.tools = new Map(tools.map((tool) => [tool.name, tool]));
  }

  /** A workspace with these files. By default every call is allowed. */
  static async with(
    files: Readonly<Record<string, string | Buffer>>,
    policy: FilePolicy = () => "allow",
  ): Promise<TestWorkspace> {
    const folder = realpathSync(temporaryFolder());
    const root = join(folder, "work");
    for (const [path, content] of Object.entries({ ".keep": "", ...files })) {
      await mkdir(dirname(join(root, path)), { recursive: true });
      await writeFile(join(root, path), content);
    }
    return TestWorkspace.at(root, join(folder, "data"), policy);
  }

  /** An existing workspace, as after a restart. */
  static async at(
    root: string,
    data: string,
    policy: FilePolicy = () => "allow",
  ): Promise<TestWorkspace> {
    const workspace = await Workspace.open({ roots: [root] });
    const checkpoints = await Checkpoints.open({ workspace, folder: data });
    return new TestWorkspace(root, data, { workspace, checkpoints, policy });
  }

  /** The result of a call, or a rejection with what the model would be told. */
  async call(name: string, input: object, contextId = "context"): Promise<string> {
    const checked = await this.tools.get(name)!.check(input);
    if (!checked.ok) throw new Error(checked.problems.join("; "));
    return this.run(name, checked.input, contextId);
  }

  /** Runs a call that was checked before. */
  async run(name: string, input: unknown, contextId = "context"): Promise<string> {
    const context = {
      taskId: "task",
      contextId,
      toolCallId: "call",
      signal: new AbortController().signal,
      caller: CALLER,
    } as ToolContext;
    this.artifacts = [];
    let output = "";
    const stream = this.tools.get(name)!.run(input, context) as AsyncGenerator<
      unknown,
      string | undefined
    >;
    for (;;) {
      const { done, value } = await stream.next();
      if (done === true) return (value as string | undefined) ?? output;
      if (typeof value === "string") output += value;
      else this.artifacts.push(value);
    }
  }

  /** What the confirm rule of a tool says about a call. */
  async confirm(name: string, input: object): Promise<string | ApprovalWords> {
    const { confirm } = this.tools.get(name)!;
    if (typeof confirm === "string") return confirm;
    const turn = { task: { id: "t", contextId: "c" } } as Turn;
    return confirm({ toolName: name, input, caller: CALLER, turn });
  }
}
