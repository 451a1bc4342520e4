/** One thing that can be wrong: why it matters, and what to do about it in one sentence. */
interface DiagnosisText {
  /** Warnings do not change the exit code. */
  readonly severity: "problem" | "warning";
  readonly why: string;
  readonly fix: string;
}

/** Everything that `convoke doctor <url>` can find, in the order in which it looks. */
export const AGENT_DIAGNOSES = {
  "dns-no-address": {
    severity: "problem",
    why: "Without an address for the name, no client can connect.",
    fix: "Create an A or AAAA record for the name, or correct the spelling of the host.",
  },
  "connection-refused": {
    severity: "problem",
    why: "Nothing listens at that address and port.",
    fix: "Start the server, make it listen on an address that is reachable from here, and publish its port.",
  },
  "no-answer": {
    severity: "problem",
    why: "Clients give up before the server responds.",
    fix: "Open the port in the firewall, and check that the server is not blocked or overloaded.",
  },
  "connection-reset": {
    severity: "problem",
    why: "The server or a proxy closes the connection instead of responding.",
    fix: "Look into the log of the server and its proxy for a crash or a rejected connection.",
  },
  "not-http": {
    severity: "problem",
    why: "A2A clients speak HTTP, and the response is not HTTP.",
    fix: "Use the port of the HTTP server.",
  },
  "tls-expired": {
    severity: "problem",
    why: "Clients reject a certificate outside of its period of validity.",
    fix: "Renew the certificate and reload the server or the proxy that presents it.",
  },
  "tls-untrusted": {
    severity: "problem",
    why: "Clients reject a certificate that no trusted authority has signed.",
    fix: "Use a certificate of a public authority with its whole chain, or set NODE_EXTRA_CA_CERTS to your own authority on every client.",
  },
  "tls-wrong-host": {
    severity: "problem",
    why: "Clients reject a certificate that was issued for another host.",
    fix: "Use the host name of the certificate, or issue one that contains this host.",
  },
  "https-for-http": {
    severity: "problem",
    why: "The address says https, but the server does not speak TLS.",
    fix: "Use http:// in the address, or put TLS in front of the server.",
  },
  "http-for-https": {
    severity: "problem",
    why: "The address says http, but the server speaks TLS there or redirects to it.",
    fix: "Use the https:// address.",
  },
  "card-missing": {
    severity: "problem",
    why: "Clients learn everything about an agent from its card.",
    fix: "Serve the card at /.well-known/agent-card.json below the address that you give to clients.",
  },
  "card-not-json": {
    severity: "problem",
    why: "A web application or proxy answers for the path of the card.",
    fix: "Route /.well-known/agent-card.json to the agent before the fallback page of the web application.",
  },
  "card-needs-auth": {
    severity: "problem",
    why: "Clients read the card to learn how to authenticate, so it must be public.",
    fix: "Serve the card without authentication, or pass --token or --header to examine this agent.",
  },
  "card-old-path": {
    severity: "problem",
    why: "The path changed in A2A 0.3, and current clients do not look at the old one.",
    fix: "Serve the card at /.well-known/agent-card.json as well.",
  },
  "card-other-path": {
    severity: "problem",
    why: "Clients look for the card below the address that they were given.",
    fix: "Give clients the address with the prefix, or serve the card at the root.",
  },
  "card-redirected": {
    severity: "problem",
    why: "Clients do not follow a redirect to another origin, because it could be an attack.",
    fix: "Serve the card at this origin, or give clients the address where it is.",
  },
  "card-content-type": {
    severity: "problem",
    why: "Clients may reject a card that is not declared as JSON.",
    fix: "Send the card with Content-Type: application/json.",
  },
  "card-too-large": {
    severity: "problem",
    why: "Clients stop reading a card above 1 MiB.",
    fix: "Shorten the card: remove embedded icons and long examples.",
  },
  "card-slow": {
    severity: "warning",
    why: "Every new client waits for the card before its first request.",
    fix: "Serve the card as a static document, and keep an instance of the server running.",
  },
  "clock-skew": {
    severity: "problem",
    why: "Tokens, signatures and timestamps are rejected if clocks differ.",
    fix: "Synchronize the clocks of the server and of this machine with NTP.",
  },
  "card-missing-fields": {
    severity: "problem",
    why: "Clients reject a card without its required fields.",
    fix: "Add the missing fields to the card.",
  },
  "card-duplicate-skills": {
    severity: "problem",
    why: "Clients choose a skill by its id, so ids must be unique.",
    fix: "Give each skill an id of its own.",
  },
  "card-local-address": {
    severity: "problem",
    why: "For a client, this address means its own machine, or nothing at all.",
    fix: "Set the public address of the server, for example PUBLIC_URL=https://agent.example.",
  },
  "card-private-address": {
    severity: "problem",
    why: "Clients outside of the private network cannot reach this address, and careful ones refuse it.",
    fix: "Set the public address of the server, for example PUBLIC_URL=https://agent.example.",
  },
  "card-http-interface": {
    severity: "problem",
    why: "The card is served over https but leads clients to http, usually because a proxy ends TLS.",
    fix: "Set the public https address (PUBLIC_URL), or let the server trust X-Forwarded-Proto of its proxy.",
  },
  "signature-invalid": {
    severity: "problem",
    why: "Clients that verify signatures reject the card.",
    fix: "Sign the card again after its last change, and publish the key that signed it.",
  },
  "interface-dead": {
    severity: "problem",
    why: "Clients that choose this interface of the card fail.",
    fix: "Correct the address of the interface in the card, or remove the interface.",
  },
  "post-redirected": {
    severity: "problem",
    why: "Clients do not repeat a POST at another address, or repeat it without its body.",
    fix: "Put the final address into the card; often only a slash at the end or https is missing.",
  },
  "version-mismatch": {
    severity: "problem",
    why: "Clients speak the version in the card, and the server does not understand it.",
    fix: "Declare the version that the server speaks, or enable the declared one.",
  },
  "response-content-type": {
    severity: "problem",
    why: "Clients reject responses that are not declared as JSON.",
    fix: "Send responses as application/json, and let no proxy replace them.",
  },
  "keep-alive-reset": {
    severity: "problem",
    why: "Clients reuse connections; if the server drops them silently, requests fail at random.",
    fix: "Make the keep-alive timeout of the server longer than that of the proxy, or send Connection: close.",
  },
  "auth-undeclared": {
    severity: "problem",
    why: "Clients only know the schemes in the card, so they cannot sign in.",
    fix: "Declare the scheme that the server requires in securitySchemes and securityRequirements.",
  },
  "auth-not-enforced": {
    severity: "problem",
    why: "The card requires credentials, but the server answers anyone.",
    fix: "Enforce authentication on every route, or remove the requirement from the card.",
  },
  "credentials-rejected": {
    severity: "problem",
    why: "The server does not accept the given credentials, so the rest of this interface is not examined.",
    fix: "Pass valid credentials with --token, --api-key or --header.",
  },
  "body-limit": {
    severity: "problem",
    why: "Messages with files or long texts do not get through.",
    fix: "Raise the limit of the proxy (nginx: client_max_body_size) and of the server.",
  },
  "grpc-blocked": {
    severity: "problem",
    why: "gRPC needs HTTP/2 from end to end, and something on the way only speaks HTTP/1.1.",
    fix: "Enable HTTP/2 to the backend in the proxy (nginx: grpc_pass), or remove gRPC from the card.",
  },
  "cors-missing": {
    severity: "problem",
    why: "Browsers do not let pages of that origin call the agent.",
    fix: "Allow the origin, the method POST and the headers Content-Type and A2A-Version (CONVOKE_CORS_ORIGINS on a Convoke server).",
  },
  "streaming-missing": {
    severity: "problem",
    why: "Clients stream because the card says so, and fail.",
    fix: "Implement streaming, or set capabilities.streaming to false.",
  },
  "stream-buffered": {
    severity: "problem",
    why: "A proxy collects the events, so users see nothing until the end.",
    fix: "Switch buffering and compression off for text/event-stream (nginx: proxy_buffering off).",
  },
  "stream-cut": {
    severity: "problem",
    why: "A proxy or the server closes streams in silence before the task ends.",
    fix: "Raise the idle timeout of the proxy (nginx: proxy_read_timeout), or send keep-alive comments more often.",
  },
  "push-missing": {
    severity: "problem",
    why: "Clients register webhooks because the card says so, and fail.",
    fix: "Implement push notifications, or set capabilities.pushNotifications to false.",
  },
  "extended-card-missing": {
    severity: "problem",
    why: "Clients ask for the extended card because the card says so, and fail.",
    fix: "Serve the extended card, or set capabilities.extendedAgentCard to false.",
  },
} as const satisfies Record<string, DiagnosisText>;

/** Everything that `convoke doctor` can find on this machine and in this project. */
export const MACHINE_DIAGNOSES = {
  "env-file-unreadable": {
    severity: "problem",
    why: "The settings in .env are not applied.",
    fix: "Make .env a file that you can read.",
  },
  "config-broken": {
    severity: "problem",
    why: "convoke serve does not start with this configuration.",
    fix: "Correct convoke.config.ts as the message says.",
  },
  "settings-invalid": {
    severity: "problem",
    why: "convoke serve does not start with these settings.",
    fix: "Correct the environment variable that the message names.",
  },
  "agent-broken": {
    severity: "problem",
    why: "convoke serve cannot load the agent.",
    fix: "Correct the file as the message says.",
  },
  "model-unusable": {
    severity: "problem",
    why: "Without its key and its package, the model of the agent cannot be called.",
    fix: "Set the variable in the environment or in .env, or install the package, as the message says.",
  },
  "data-folder-not-writable": {
    severity: "problem",
    why: "The server stores tasks there and cannot start without it.",
    fix: "Give yourself write permission for the folder, or choose another one with CONVOKE_DATA.",
  },
  "data-folder-in-memory": {
    severity: "warning",
    why: "The folder is on a file system in memory, so its tasks are lost with the next restart of the machine.",
    fix: "Set CONVOKE_DATA to a folder on a disk or a mounted volume.",
  },
  "data-folder-on-network": {
    severity: "problem",
    why: "SQLite needs file locks that network file systems do not guarantee, so the database may be damaged.",
    fix: "Set CONVOKE_DATA to a folder on a local disk.",
  },
  "port-unavailable": {
    severity: "problem",
    why: "convoke serve cannot listen on this port: another program does, or you are not allowed to.",
    fix: "Stop the program that uses it, or choose another port above 1023 with PORT or --port.",
  },
  "credentials-exposed": {
    severity: "problem",
    why: "The file is not used until it is private and intact.",
    fix: "Follow the message, then run convoke login again if necessary.",
  },
  "clock-wrong": {
    severity: "problem",
    why: "Tokens and certificates are rejected if the clock is wrong.",
    fix: "Set the clock of this machine, and keep it synchronized with NTP.",
  },
} as const satisfies Record<string, DiagnosisText>;

/** Everything that `convoke database check` can find, in the order in which it looks. */
export const DATABASE_DIAGNOSES = {
  "database-too-old": {
    severity: "problem",
    why: "Servers are tested with Postgres 15 and later.",
    fix: "Upgrade Postgres to version 15 or later.",
  },
  "database-encoding": {
    severity: "problem",
    why: "Other encodings cannot store every text of a message.",
    fix: "Create the database with the encoding UTF8.",
  },
  "database-standby": {
    severity: "problem",
    why: "A standby accepts no writes, so no server can start.",
    fix: "Use the address of the primary server.",
  },
  "database-rights": {
    severity: "problem",
    why: "Servers read and write all tables of the schema.",
    fix: "Run convoke database migrate as an administrator, with --grant and the name of this user.",
  },
  "database-not-migrated": {
    severity: "warning",
    why: "Tables are missing, which the next server creates unless it was started with --no-migrate.",
    fix: "Run convoke database migrate, as a user who may create tables.",
  },
  "database-too-new": {
    severity: "problem",
    why: "The tables were changed by a newer version, and this one cannot work with them.",
    fix: "Upgrade Convoke on this machine.",
  },
  "database-clock": {
    severity: "warning",
    why: "Lists are ordered by the clocks of the servers, and tasks that wait are woken by them.",
    fix: "Synchronize the clocks of this machine and of the database server with NTP.",
  },
  "database-no-notify": {
    severity: "warning",
    why: "Servers hear of each other's commits only by looking every 250 ms, so live streams are late.",
    fix: "Use the address of the database server itself, or a pooler in session mode.",
  },
  "database-not-durable": {
    severity: "warning",
    why: "What servers have confirmed can be lost when the database server loses power.",
    fix: "Turn the setting on in postgresql.conf.",
  },
  "database-slow-commits": {
    severity: "warning",
    why: "Every event of a task waits for a commit.",
    fix: "Use a faster disk for the database, or run the servers nearer to it.",
  },
  "database-connections": {
    severity: "warning",
    why: "A server that gets no connection does not start.",
    fix: "Raise max_connections of Postgres, or run fewer servers.",
  },
  "database-asynchronous": {
    severity: "warning",
    why: "A failover to this standby loses what it has not received yet, although it was confirmed.",
    fix: "Name the standby in synchronous_standby_names of Postgres.",
  },
} as const satisfies Record<string, DiagnosisText>;

const DIAGNOSES = { ...AGENT_DIAGNOSES, ...MACHINE_DIAGNOSES, ...DATABASE_DIAGNOSES };

export type DiagnosisId = keyof typeof DIAGNOSES;

/** Something that is wrong. */
export interface Diagnosis extends DiagnosisText {
  readonly id: DiagnosisId;
  /** What is concerned: an address, a file or a setting. */
  readonly where: string;
  /** What was observed. */
  readonly seen: string;
}

/** Called before each step, to show progress. */
export type OnStep = (step: string) => void;

/** The findings of one examination, as `--json` prints them. */
export class Findings {
  readonly diagnoses: Diagnosis[] = [];
  readonly passed: string[] = [];
  readonly skipped: string[] = [];
  readonly #onStep: OnStep;

  constructor(onStep: OnStep = () => undefined) {
    this.#onStep = onStep;
  }

  step(step: string): void {
    this.#onStep(step);
  }

  /** Records what is wrong. The same diagnosis about the same thing counts once. */
  diagnose(id: DiagnosisId, where: string, seen: string): void {
    if (this.diagnoses.some((known) => known.id === id && known.where === where)) return;
    this.diagnoses.push({ id, where, seen, ...DIAGNOSES[id] });
  }

  pass(what: string): void {
    this.passed.push(what);
  }

  /** Records what could not be examined, and why. */
  skip(what: string): void {
    this.skipped.push(what);
  }

  get hasProblems(): boolean {
    return this.diagnoses.some(({ severity }) => severity === "problem");
  }
}
