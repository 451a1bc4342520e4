import type {
  AgentCardFacts,
  AgentSkill,
  CardSecurity,
  SecurityRequirement,
} from "@convoke/protocol";

/** The scopes that messages for a skill need. */
type ScopesForSkill = (id: string) => readonly string[];

/**
 * Adds to each skill that needs scopes how a client gets them, if the card declares a scheme whose
 * tokens have scopes (OAuth 2.0 or OpenID Connect). Skills that say it themselves stay as they are.
 */
export function withSkillSecurity(
  facts: AgentCardFacts,
  scopesForSkill: ScopesForSkill,
): AgentCardFacts {
  const { security, info } = facts;
  if (security === undefined) return facts;
  const skills = info.skills.map((skill) => secured(skill, scopesForSkill(skill.id), security));
  const isChanged = skills.some((skill, index) => skill !== info.skills[index]);
  return isChanged ? { ...facts, info: { ...info, skills } } : facts;
}

/** Leaves out the skills that a caller may not use. */
export function withUsableSkills(
  facts: AgentCardFacts,
  isUsable: (skillId: string) => boolean,
): AgentCardFacts {
  const { info } = facts;
  return { ...facts, info: { ...info, skills: info.skills.filter(({ id }) => isUsable(id)) } };
}

function secured(
  skill: AgentSkill,
  scopes: readonly string[],
  { schemes, requirements }: CardSecurity,
): AgentSkill {
  if (scopes.length === 0 || skill.security !== undefined) return skill;
  const hasScopes = (name: string): boolean =>
    ["oauth2", "openIdConnect"].includes(schemes[name]?.type ?? "");
  if (!requirements.flatMap(Object.keys).some(hasScopes)) return skill;
  // The other ways to authenticate stay: their credentials may have the scopes as well.
  const security = requirements.map((requirement): SecurityRequirement =>
    Object.fromEntries(
      Object.entries(requirement).map(([name, own]) => [
        name,
        hasScopes(name) ? [...new Set([...own, ...scopes])] : own,
      ]),
    ),
  );
  return { ...skill, security };
}
