import { EXTENSIONS } from "@convoke/protocol";

/**
 * What an agent is asked for. With `approvals` no words of a message approve a
 * call, so that a model cannot decide what is a person's to decide.
 */
export const ASKED_EXTENSIONS: readonly string[] = [EXTENSIONS.skill.uri, EXTENSIONS.approvals.uri];
