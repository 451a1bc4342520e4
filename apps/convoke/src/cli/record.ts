import { printable } from "@convoke/protocol/internal";
import {
  type Command,
  type CommandContext,
  EXIT,
  UsageError,
  exitCodeFor,
} from "../terminal/command.ts";
import { coloursFor } from "../terminal/output.ts";

export const recordCommand: Command = {
  name: "record",
  summary: "Record what an agent's models and tools answer, to replay it in a test",
  usage: '<file> "text" ["answer" ...] --out <recording> [options]',
  examples: [
    'convoke record agent.ts "What is the weather in Rome?" --out weather.json',
    'convoke record agent.ts "Refund order 1001." approve --out refund.json',
  ],
  options: {
    out: { type: "string", value: "<recording>", help: "The JSON file to write" },
    secret: {
      type: "string",
      value: "<text>",
      multiple: true,
      help: "Mask this text in the recording; can be repeated",
    },
  },
  more: `The agent runs for real, with its models, tools, MCP servers and sub-agents, in memory. Further
texts answer its questions, in order. In a test, say(agent, text, { replay: "weather.json" }) replays
the recording without asking a model or running a tool.

Sensitive answers and the values of environment variables whose names end in KEY, TOKEN, SECRET,
PASSWORD or CREDENTIALS are masked. Read the recording before you commit it.`,
  run: record,
};

async function record(context: CommandContext): Promise<number> {
  const { io } = context;
  const [file, text, ...answers] = context.positionals;
  const out = context.text("out");
  if (file === undefined) throw new UsageError("Name the file of the agent.");
  if (text === undefined) throw new UsageError("Write the message to the agent, in quotes.");
  if (out === undefined) throw new UsageError("Name the file to write with --out.");
  // Loaded on demand, so that other commands start faster.
  const { loadAgent } = await import("../host/load-agent.ts");
  const { loadEnvFile } = await import("../host/settings.ts");
  const { StartError } = await import("../host/config.ts");
  const { say } = await import("../testing/say.ts");
  loadEnvFile();
  try {
    const agent = await loadAgent(file);
    const options = { answers, record: out, secrets: context.texts("secret") };
    const answer = await say(agent, text, options);
    io.stdout(`${io.isTTY.stdout ? printable(answer.text) : answer.text}\n`);
    io.stderr(`${coloursFor(io, "stderr").dim(`recorded in ${out}`)}\n`);
    return answer.task === undefined ? EXIT.done.code : exitCodeFor(answer.task.status.state);
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    io.stderr(`${error.message}\n`);
    return EXIT.notStarted.code;
  }
}
