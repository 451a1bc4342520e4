import type { ModelRequest, ToolDescription } from "../model.ts";
import type { ScriptStep } from "../script/script-step.ts";
import { fakeArguments } from "./fake-arguments.ts";
import { givenArguments } from "./given-arguments.ts";

type Call = ScriptStep & { readonly kind: "tool-call" };

/** A word for a whole sort of tools, for people who do not know the names. */
const SORTS: readonly { readonly word: RegExp; readonly tool: RegExp }[] = [
  {
    word: /\b(approv\w*|permission)\b/i,
    tool: /approv|confirm|refund|pay|delete|remove|send|write/i,
  },
  { word: /\b(agent|delegate)\b/i, tool: /agent|delegate/i },
];

/** The tools that a text names, in its order, with what it says about their arguments. */
export function namedCalls(text: string, request: ModelRequest): readonly Call[] {
  const named = request.tools
    .map((tool) => ({ tool, at: placeOf(tool.name, text) }))
    .filter(({ at }) => at >= 0)
    .toSorted((one, other) => one.at - other.at);
  const found = named.length > 0 ? named : bySort(text, request.tools);
  const earlier = countCalls(request);
  return found.map(({ tool, at }, index) => {
    const given =
      at < 0 ? undefined : givenArguments(text.slice(at + tool.name.length), tool.input);
    return {
      kind: "tool-call",
      toolCallId: `demo-${earlier + index + 1}`,
      toolName: tool.name,
      input: { ...fakeArguments(tool.input, text), ...given },
    };
  });
}

/** Where a whole word of a text is this name; case does not matter. */
function placeOf(name: string, text: string): number {
  const escaped = name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return text.search(new RegExp(`(?<![\\w-])${escaped}(?![\\w-])`, "i"));
}

function bySort(
  text: string,
  tools: readonly ToolDescription[],
): readonly { readonly tool: ToolDescription; readonly at: number }[] {
  const sort = SORTS.find(({ word }) => word.test(text));
  const tool =
    sort && tools.find(({ name, description }) => sort.tool.test(`${name} ${description}`));
  return tool === undefined ? [] : [{ tool, at: -1 }];
}

function countCalls({ transcript }: ModelRequest): number {
  return transcript.reduce((sum, entry) => {
    if (entry.role !== "assistant") return sum;
    return sum + entry.content.filter(({ kind }) => kind === "tool-call").length;
  }, 0);
}
