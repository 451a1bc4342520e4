import {
  type Message,
  type PublicEvent,
  type StatusUpdateEvent,
  type Task,
  agentMessage,
} from "@convoke/protocol";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { lineText } from "../screen/cells.ts";
import { renderBlock } from "./render-block.ts";
import {
  type Block,
  EMPTY,
  type Transcript,
  addEvent,
  beginTurn,
  endTurn,
  takeFinished,
} from "./transcript.ts";

const ACTIVITY = "https://convoke.dev/extensions/tool-activity/v1";

const IDS = { taskId: "t1", contextId: "c1" };

function text(delta: string, append = true): PublicEvent {
  const artifact = { artifactId: "a1", parts: [{ kind: "text", text: delta }] } as const;
  return { kind: "artifact-update", ...IDS, artifact, append };
}

function working(message: Message): StatusUpdateEvent {
  return { kind: "status-update", ...IDS, status: { state: "working", message }, final: false };
}

function task(more: Partial<Task>): Task {
  return { kind: "task", id: "t1", contextId: "c1", status: { state: "working" }, ...more };
}

function activity(type: string, data: object): PublicEvent {
  const part = { kind: "data", data, metadata: { [ACTIVITY]: { type } } } as const;
  return working(agentMessage("m1", [part]));
}

const call = (id: string, name: string) =>
  activity("tool-use", { toolUseId: id, name, input: { id } });
const result = (id: string, output: unknown) =>
  activity("tool-result", { toolUseId: id, name: "x", result: output });

function after(events: readonly PublicEvent[], from: Transcript = EMPTY): Transcript {
  return events.reduce((so, event) => addEvent(so, event, 0), from);
}

/** What a person sees of blocks. */
function shown(blocks: readonly Block[], width = 60): string {
  const lines = blocks.flatMap((block, place) =>
    renderBlock(block, blocks[place - 1], { width, now: 0 }),
  );
  return lines.map(lineText).join("\n");
}

describe("a transcript", () => {
  test("looks the same at the end, in whatever pieces the text arrived and whenever it was painted", () => {
    const source = fc.array(
      fc.constantFrom(
        "# Head\n",
        "some words ",
        "- item\n",
        "\n\n",
        "```\ncode\n```\n",
        "**bold** ",
        "日本 ",
      ),
      { minLength: 1, maxLength: 30 },
    );
    fc.assert(
      fc.property(source, fc.array(fc.tuple(fc.nat(), fc.boolean())), (pieces, cuts) => {
        const whole = pieces.join("");
        const places = cuts.map(([place]) => place % whole.length).toSorted((a, b) => a - b);
        const chunks = [...places, whole.length].map((end, place) =>
          whole.slice(places[place - 1] ?? 0, end),
        );
        const finished: Block[] = [];
        let transcript = EMPTY;
        for (const [place, chunk] of chunks.entries()) {
          transcript = addEvent(transcript, text(chunk), 0);
          if (cuts[place]?.[1] === true) {
            const taken = takeFinished(transcript);
            finished.push(...taken.finished);
            ({ transcript } = taken);
          }
        }
        finished.push(...takeFinished(endTurn(transcript, false, 0)).finished);
        const once = takeFinished(endTurn(after([text(whole)]), false, 0)).finished;

        expect(shown(finished)).toBe(shown(once));
      }),
    );
  });

  test("shows tool calls with their results between the texts around them", () => {
    const events = [text("I look.\n"), call("1", "read"), call("2", "grep"), result("1", "found")];
    const { finished, transcript } = takeFinished(after(events));

    expect(shown(finished)).toBe('I look.\n\n✓ read(id: "1")\n  └ found');
    expect(transcript.blocks).toMatchObject([{ name: "grep", state: "running" }]);
    const end = endTurn(
      after([result("2", "a\nb\nc\nd\ne\nf"), text("So.")], transcript),
      false,
      0,
    );
    expect(shown(end.blocks)).toBe(
      '✓ grep(id: "2")\n  └ a\n    b\n    c\n    d\n    … 2 more lines\n\nSo.',
    );
  });

  test("keeps a call that waits for a decision until the next turn", () => {
    const asked = endTurn(after([call("1", "write")]), true, 0);
    const next = after([result("1", "done")], beginTurn(asked, 0));

    expect(asked.blocks).toEqual([]);
    expect(shown(next.blocks)).toBe('✓ write(id: "1")\n  └ done');
    expect(shown(endTurn(beginTurn(asked, 0), false, 0).blocks)).toContain("canceled");
  });

  test("shows the progress of a sub-agent in the card of its call", () => {
    const progress = (taskId: string, words: string) => {
      const metadata = { subAgent: { name: "writer", taskId } };
      return working({ ...agentMessage("m2", words), metadata });
    };
    const { blocks } = after([
      call("1", "writer"),
      call("2", "writer"),
      progress("s1", "Chapter 1"),
      progress("s2", "Chapter 2"),
      progress("s1", "Chapter 3"),
    ]);

    expect(blocks).toMatchObject([{ progress: "Chapter 3" }, { progress: "Chapter 2" }]);
    expect(shown(after([progress("s1", "alone")]).blocks)).toBe("alone");
    const answer = {
      agent: "writer",
      taskId: "s1",
      artifacts: [{ artifactId: "a", text: "Book" }],
    };
    expect(shown(after([call("1", "writer"), result("1", answer)]).blocks)).toBe(
      '✓ writer(id: "1")\n  └ Book',
    );
  });

  test("shows the events of a coding agent: plans, thoughts, live output, and text by message", () => {
    const uri = "https://convoke.dev/extensions/coder/v1";
    const coder = (kind: string, parts: Message["parts"]) => ({
      ...working(agentMessage("m1", parts)),
      metadata: { [uri]: { kind, model: "demo" } },
    });
    const data = (kind: string, fields: object) =>
      coder(kind, [{ kind: "data", data: fields, metadata: { [uri]: { type: kind } } }]);
    const shell = (status: string, more: object = {}) =>
      data("tool-call", {
        callId: "1",
        name: "shell",
        status,
        input: { run: "npm test" },
        ...more,
      });
    const entries = [
      { content: "Look", status: "completed" },
      { content: "Fix", status: "in_progress" },
    ];
    const output = (words: string): PublicEvent => {
      const parts = [{ kind: "text", text: words }] as const;
      const artifact = { artifactId: "tool-1-output", parts };
      return { kind: "artifact-update", ...IDS, artifact, append: true };
    };
    const words = (delta: string) => coder("text", [{ kind: "text", text: delta }]);

    const running = after([
      data("thought", { subject: "Tests", description: "they fail" }),
      data("plan", { entries }),
      words("I run "),
      words("them."),
      shell("PENDING"),
      shell("EXECUTING"),
      output("1 ok\n2 ok\n3 ok\n"),
      output("4 ok\n5 failed\n"),
      data("usage", { inputTokens: 1, outputTokens: 2 }),
    ]);
    const ended = after([shell("SUCCEEDED", { result: "1 of 5 failed" })], running);

    const whole = { artifactId: "answer", parts: [{ kind: "text", text: "I run them." }] } as const;
    const again = task({ artifacts: [whole] });

    expect(shown(after([again], ended).blocks)).toBe(shown(ended.blocks));
    expect(running.facts.model).toBe("demo");
    expect(shown(running.blocks)).toBe(
      [
        "✻ Tests: they fail",
        "",
        "☑ Look",
        "▸ Fix",
        "",
        "I run them.",
        "",
        '⠋ shell(run: "npm test")',
        "  └ 2 ok",
        "    3 ok",
        "    4 ok",
        "    5 failed",
      ].join("\n"),
    );
    expect(shown(ended.blocks)).toMatch(/✓ shell\(run: "npm test"\)\n {2}└ 1 of 5 failed$/);
    expect(shown(endTurn(after([shell("PENDING")]), false, 0).blocks)).toMatch(/^■ .* canceled$/);
  });

  test("continues a text that comes again as a whole, and says if it starts again", () => {
    const whole = (words: string) =>
      task({ artifacts: [{ artifactId: "a1", parts: [{ kind: "text", text: words }] }] });

    expect(shown(after([text("one "), whole("one two"), text(" three")]).blocks)).toBe(
      "one two three",
    );
    expect(shown(after([text("one "), whole("other")]).blocks)).toBe(
      "one\n\nThe agent starts this part of its answer again.\n\nother",
    );
  });

  test("shows the last message of an agent that sends no artifacts, and reasoning apart", () => {
    const last = { ...working(agentMessage("m1", "The answer.")), final: true };
    const completed: PublicEvent = { ...last, status: { ...last.status, state: "completed" } };
    const thought = working({ ...agentMessage("m0", "Hmm."), metadata: { thought: true } });

    expect(shown(after([thought, completed]).blocks)).toBe("✻ Hmm.\n\nThe answer.");
    expect(shown(after([text("Said."), completed]).blocks)).toBe("Said.");
  });
});
