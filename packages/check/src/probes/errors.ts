import { must, should } from "../claim.ts";
import type { Probe } from "../probe.ts";
import type { Scene } from "../scene/scene.ts";
import { Failed } from "../verdict.ts";
import type { Refused } from "../wire/call.ts";
import { at, isObject, textAt } from "../wire/json.ts";
import { errorInfoIn } from "../wire/wire-error.ts";

const UNKNOWN = "convoke-check-no-such-task";

/** How errors are written. An unknown task gives one that every server has. */
export const ERROR_FORMS: readonly Probe[] = [
  {
    name: "message",
    says: "An error says what is wrong.",
    claims: [must("v1-S49", "§3.3.2"), must("v03-S11", "§6.12")],
    async run(scene) {
      const { error, exchange } = await refusal(scene);
      if (error.message === "") throw new Failed("an error with a message", exchange);
    },
  },
  {
    name: "typed-details",
    says: "The details of an error are objects with an @type.",
    claims: [must("v1-S49", "§9.5, §11.6")],
    bindings: ["jsonrpc", "rest"],
    async run(scene) {
      const { body, error, exchange } = await refusal(scene);
      const data = at(body, "error", "data");
      if (data !== undefined && !Array.isArray(data)) {
        throw new Failed("error.data that is a list", exchange);
      }
      if (error.details.every((detail) => textAt(detail, "@type") !== "")) return;
      throw new Failed("details that each have an @type", exchange);
    },
  },
  {
    name: "error-info",
    says: "An error has an ErrorInfo with its reason and the domain a2a-protocol.org.",
    claims: [should("v1-S49", "§9.5")],
    bindings: ["jsonrpc"],
    run: judgeErrorInfo,
  },
  {
    name: "error-info",
    says: "An error has an ErrorInfo with its reason and the domain a2a-protocol.org.",
    claims: [must("v1-S51", "§11.6")],
    bindings: ["rest"],
    run: judgeErrorInfo,
  },
  {
    name: "error-info",
    says: "The status of an error has an ErrorInfo with its reason and the domain a2a-protocol.org.",
    claims: [must("v1-S53", "§10.6")],
    bindings: ["grpc"],
    run: judgeErrorInfo,
  },
  {
    name: "error-body",
    says: "The body of an error is a google.rpc.Status.",
    claims: [must("v1-S51", "§11.6")],
    bindings: ["rest"],
    async run(scene) {
      const { body, error, exchange } = await refusal(scene);
      const status = at(body, "error");
      const isStatus = isObject(status) && textAt(status, "status") !== "";
      if (isStatus && status["code"] === error.http && textAt(status, "message") !== "") return;
      throw new Failed("{error: {code, status, message, details}} with the HTTP status", exchange);
    },
  },
  {
    name: "error-body",
    says: "An error is JSON that says what is wrong, with a status that fits.",
    claims: [must("v03-S8", "§3.2.3")],
    bindings: ["rest"],
    async run(scene) {
      const { body, error, exchange } = await refusal(scene);
      const isFitting = error.http !== undefined && error.http >= 400 && error.http < 500;
      if (isObject(body) && isFitting) return;
      throw new Failed("JSON, and a status from 400 to 499", exchange);
    },
  },
];

async function judgeErrorInfo(scene: Scene): Promise<void> {
  const { error, exchange } = await refusal(scene);
  const info = errorInfoIn(error.details);
  const isRight = textAt(info, "reason") === "TASK_NOT_FOUND";
  if (isRight && textAt(info, "domain") === "a2a-protocol.org") return;
  throw new Failed("an ErrorInfo with TASK_NOT_FOUND and a2a-protocol.org", exchange);
}

async function refusal(scene: Scene): Promise<Refused> {
  const answer = await scene.call("getTask", scene.requests.get(UNKNOWN));
  if (answer.kind === "refused") return answer;
  throw new Failed("the error TaskNotFound", answer.exchange);
}
