import {
  CARD_PROBES,
  CLIENT_ACTIONS,
  CLIENT_PROBES,
  type ClientProbe,
  GATE,
  PROBES,
  probeId,
} from "@convoke/check";

interface Row {
  readonly id: string;
  readonly level: string;
  readonly section: string;
  readonly says: string;
  /** Where it runs, or what the client does. */
  readonly where: string;
}

/** The list of all probes, by version and section of the specification. */
export function probePage(): string {
  return `# All probes

<!-- Written by scripts/probe-page.ts (npm run docs:probes). Do not edit this page by hand. -->

Every probe of \`convoke check\`, by the section of the specification that it cites. ${"`--only <id>`"} runs one of them. The [servers](README.md) that are checked see the first two tables, [clients](clients.md) the others.

## Servers, A2A 1.0

${table(serverRows("1.0"), "where")}

## Servers, A2A 0.3

${table(serverRows("0.3"), "where")}

## Clients, A2A 1.0

${table(clientRows("1.0"), "action")}

## Clients, A2A 0.3

${table(clientRows("0.3"), "action")}

## What the client does

| action | what it is |
| --- | --- |
${Object.entries(CLIENT_ACTIONS)
  .map(([action, instruction]) => `| \`${action}\` | ${instruction} |`)
  .join("\n")}
`;
}

function serverRows(version: string): readonly Row[] {
  const cards = CARD_PROBES.map((probe) => ({ probe, claim: probe.claim, where: "card" }));
  const others = [GATE, ...PROBES].flatMap((probe) =>
    probe.claims.map((claim) => ({ probe, claim, where: bindingsOf(probe) })),
  );
  return [...cards, ...others]
    .filter(({ claim }) => claim.version === version)
    .map(({ probe, claim, where }) => ({ ...toRow(probe, claim), where }));
}

function clientRows(version: string): readonly Row[] {
  return CLIENT_PROBES.flatMap((probe) =>
    probe.claims
      .filter((claim) => claim.version === version)
      .map((claim) => ({
        ...toRow(probe, claim),
        where: `\`${probe.action}\`${probe.bindings === undefined ? "" : `, ${bindingsOf(probe)}`}`,
      })),
  );
}

function bindingsOf({ bindings }: Pick<ClientProbe, "bindings">): string {
  return bindings?.join(", ") ?? "all";
}

function toRow(
  probe: Pick<ClientProbe, "name" | "says">,
  claim: ClientProbe["claims"][number],
): Omit<Row, "where"> {
  return {
    id: probeId(probe, claim),
    level: claim.level,
    section: claim.section.replace(/^\S+ /, ""),
    says: probe.says,
  };
}

function table(rows: readonly Row[], head: string): string {
  const lines = rows
    .toSorted((one, other) => one.section.localeCompare(other.section, "en", { numeric: true }))
    .map(
      ({ id, level, section, says, where }) =>
        `| ${section} | \`${id}\` | ${level} | ${where} | ${says.replaceAll("<", "\\<").replaceAll("|", "\\|")} |`,
    );
  return [
    `| section | probe | level | ${head} | what conforms |`,
    "| --- | --- | --- | --- | --- |",
    ...lines,
  ].join("\n");
}
