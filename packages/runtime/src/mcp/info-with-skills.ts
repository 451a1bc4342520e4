import type { AgentInfo, AgentSkill } from "@convoke/protocol";

/**
 * What the card says of an agent while the tools of its servers come and go. It is
 * the same object until they change, because servers look at it all the time.
 *
 * @param taken names that are something else's, which is what the agent then has
 */
export function infoWithSkills(
  own: AgentInfo,
  offered: () => readonly AgentSkill[],
  taken: ReadonlySet<string>,
): () => AgentInfo {
  const ids = new Set([...own.skills.map(({ id }) => id), ...taken]);
  let seen: readonly AgentSkill[] = [];
  let info = own;
  return () => {
    const skills = offered();
    if (skills === seen) return info;
    seen = skills;
    const more = skills.filter(({ id }) => !ids.has(id));
    info = more.length === 0 ? own : { ...own, skills: [...own.skills, ...more] };
    return info;
  };
}
