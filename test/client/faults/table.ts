import type { FaultGroup, FaultSpeaking } from "../../client-faults/index.ts";
import type { Judged, Verdict } from "./verdict.ts";

/** The outcome of one client for one version and binding. */
export interface Row {
  readonly client: string;
  readonly scenario: string;
  readonly speaking: FaultSpeaking;
  readonly judged: Judged;
}

export const CLIENTS = ["ours", "sdk 1.3.0", "sdk 0.3.14"] as const;

const VERDICTS: readonly Verdict[] = [
  "right",
  "allowed",
  "gives up",
  "cut short",
  "wrong result",
  "raw error",
  "hang",
];

const BINDINGS = { JSONRPC: "JSON-RPC", "HTTP+JSON": "REST", GRPC: "gRPC" } as const;

/** How often each client had which outcome. */
export function countsTable(rows: readonly Row[]): string {
  const lines = CLIENTS.map((client) => {
    const own = rows.filter((row) => row.client === client);
    const counts = VERDICTS.map(
      (verdict) => own.filter(({ judged }) => judged.verdict === verdict).length,
    );
    return [client, own.length, ...counts];
  });
  return markdown(["client", "runs", ...VERDICTS], lines);
}

/** One line for each scenario of a group. */
export function groupTable({ scenarios }: FaultGroup, rows: readonly Row[]): string {
  const lines = scenarios.map(({ id, sentence }) => {
    const cells = CLIENTS.map((client) =>
      cellOf(rows.filter((row) => row.client === client && row.scenario === id)),
    );
    return [`\`${id}\``, sentence, ...cells];
  });
  return markdown(["scenario", "what the agent does", ...CLIENTS], lines);
}

/** One word if all versions and bindings agree. */
function cellOf(rows: readonly Row[]): string {
  if (rows.length === 0) return "–";
  const byText = Map.groupBy(rows, ({ judged }) => textOf(judged));
  if (byText.size === 1) return [...byText.keys()].join("");
  return [...byText]
    .map(([text, same]) => {
      const ways = same.map(({ speaking }) => BINDINGS[speaking.binding]);
      return `${[...new Set(ways)].join(", ")}: ${text}`;
    })
    .join("; ");
}

const LONGEST = 90;

function textOf({ verdict, came }: Judged): string {
  if (came === "" || verdict === "hang") return verdict;
  const plain = came
    .replaceAll(/(?:127\.0\.0\.1|localhost):\d+/g, "agent")
    .replaceAll(/[|`\n\r]/g, " ");
  const short = plain.length > LONGEST ? `${plain.slice(0, LONGEST)}…` : plain;
  return `${verdict} (\`${short}\`)`;
}

function markdown(
  head: readonly string[],
  lines: readonly (readonly (string | number)[])[],
): string {
  const line = (cells: readonly (string | number)[]) => `| ${cells.join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...lines.map(line)].join("\n");
}
