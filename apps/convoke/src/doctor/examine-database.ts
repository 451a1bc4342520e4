import {
  CONNECTIONS_PER_SERVER,
  type DatabaseFacts,
  inspectDatabase,
} from "@convoke/backends/postgres";
import { type DiagnosisId, Findings, type OnStep } from "./diagnoses.ts";

/** Looks at a database as a server would use it. Rejects with a `DatabaseError` if it does not answer. */
export async function examineDatabase(
  url: string,
  onStep?: OnStep,
): Promise<{ readonly title: string; readonly findings: Findings }> {
  const findings = new Findings(onStep);
  findings.step("looking at the database");
  const facts = await inspectDatabase(url);
  const title = `Postgres at ${facts.label}, schema ${facts.schema}`;
  judge(facts, findings);
  return { title, findings };
}

/** The earliest major version that the tests run with. */
const MIN_VERSION = 15;
const MAX_OFFSET_MS = 1000;
const SLOW_COMMIT_MS = 20;

/** Records for each fact that it is fine, or what is wrong with it. */
export function judge(facts: DatabaseFacts, findings: Findings): void {
  const { label, version, encoding, isStandby, clockOffsetMs, isNotifying, unsafe } = facts;
  const check = (isFine: boolean, id: DiagnosisId, seen: string): void =>
    isFine ? findings.pass(seen) : findings.diagnose(id, label, seen);
  check(Number.parseInt(version, 10) >= MIN_VERSION, "database-too-old", `Postgres ${version}`);
  check(encoding === "UTF8", "database-encoding", `The encoding is ${encoding}`);
  judgeSchema(facts, check);
  check(
    Math.abs(clockOffsetMs) <= MAX_OFFSET_MS,
    "database-clock",
    `The clock of the database differs from this machine's by ${Math.abs(clockOffsetMs)} ms`,
  );
  if (isStandby) findings.diagnose("database-standby", label, "it follows another server");
  else {
    const notified = isNotifying ? "arrive" : "do not arrive, as behind a pooler";
    check(isNotifying, "database-no-notify", `Notifications (LISTEN) ${notified}`);
  }
  if (unsafe.length > 0) findings.diagnose("database-not-durable", label, unsafe.join(", "));
  judgeCommits(facts, findings, check);
  judgeConnections(facts, check);
  for (const standby of facts.standbys) judgeStandby(standby, check);
  if (facts.standbys.length === 0) findings.skip("Standbys: this user sees none");
}

type Check = (isFine: boolean, id: DiagnosisId, seen: string) => void;

function judgeSchema(facts: DatabaseFacts, check: Check): void {
  const { stored, known, schema, user, isCreator, forbidden } = facts;
  const may = isCreator ? "use and change" : "use, but not change,";
  const isAllowed = forbidden.length === 0;
  const denied = `${user} may not use ${forbidden.join(", ")}`;
  check(isAllowed, "database-rights", isAllowed ? `${user} may ${may} the tables` : denied);
  if (stored === undefined) return;
  const { version, minSoftware } = stored;
  if (minSoftware > known) {
    check(false, "database-too-new", `version ${version}; this program knows ${known}`);
    return;
  }
  const seen =
    version === 0
      ? `There are no tables in schema ${schema}`
      : `Schema ${schema} has version ${version}; this program knows ${known}`;
  if (version === 0 && !isCreator) check(false, "database-rights", `${user} may not create tables`);
  check(version >= known, "database-not-migrated", seen);
}

function judgeCommits({ commitsMs }: DatabaseFacts, findings: Findings, check: Check): void {
  const middle = commitsMs[Math.floor(commitsMs.length / 2)];
  if (middle === undefined) return findings.skip("The time of a commit: it could not be measured");
  const slowest = commitsMs.at(-1)!;
  const seen = `A commit takes ${inMs(middle)}, the slowest of ${commitsMs.length} took ${inMs(slowest)}`;
  check(middle <= SLOW_COMMIT_MS, "database-slow-commits", seen);
}

function inMs(time: number): string {
  return `${time < 10 ? time.toFixed(1) : Math.round(time)} ms`;
}

function judgeConnections({ connections: { most, used } }: DatabaseFacts, check: Check): void {
  const more = Math.max(0, Math.floor((most - used) / CONNECTIONS_PER_SERVER));
  check(
    more > 0,
    "database-connections",
    `${used} of ${most} connections are in use, which leaves room for ${more} more servers of ${CONNECTIONS_PER_SERVER} each`,
  );
}

function judgeStandby(
  { name, isSynchronous, lagMs }: DatabaseFacts["standbys"][number],
  check: Check,
): void {
  const behind = lagMs === undefined ? "" : `, ${lagMs} ms behind`;
  const kind = isSynchronous ? "synchronous" : "asynchronous";
  check(isSynchronous, "database-asynchronous", `The standby ${name} is ${kind}${behind}`);
}
