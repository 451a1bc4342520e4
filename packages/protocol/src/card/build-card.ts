import type { AgentCardFacts } from "../model/agent.ts";
import type { ProtocolVersion } from "../model/operations.ts";
import { CODECS } from "../wire/codecs.ts";

/**
 * The card in the format of one version or, if none is given, a hybrid that readers of
 * both understand: the top-level fields do not collide except for `capabilities`, which are
 * merged, and `securitySchemes` and `skills`, whose entries have both forms.
 */
export function buildCard(facts: AgentCardFacts, version: ProtocolVersion | undefined): object {
  if (version !== undefined) return CODECS[version].encodeCard(facts);
  const old = CODECS["0.3"].encodeCard(facts) as CardParts;
  const current = CODECS["1.0"].encodeCard(facts) as CardParts;
  const securitySchemes = bothForms(old.securitySchemes, current.securitySchemes);
  const capabilities = { ...old.capabilities, ...current.capabilities };
  const skills = current.skills.map((skill, index) => ({ ...old.skills[index], ...skill }));
  return { ...old, ...current, capabilities, skills, ...(securitySchemes && { securitySchemes }) };
}

type Schemes = Readonly<Record<string, object>>;

interface CardParts {
  readonly securitySchemes?: Schemes;
  readonly capabilities?: object;
  readonly skills: readonly object[];
}

function bothForms(old: Schemes | undefined, current: Schemes | undefined): Schemes | undefined {
  if (old === undefined || current === undefined) return old ?? current;
  return Object.fromEntries(
    Object.keys(current).map((name) => [name, { ...old[name], ...current[name] }]),
  );
}
