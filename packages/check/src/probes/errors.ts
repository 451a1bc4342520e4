import { UNKNOWN_TASK } from "../scene/fixtures.ts";
import { type Probe, must, should } from "./probe.ts";
import type { Scene } from "../scene/scene.ts";
import { Failed } from "../wire/exchange.ts";
import type { ErrorResponse } from "../wire/client.ts";
import { isObject } from "@convoke/protocol/internal";
import { at, textAt } from "../wire/json.ts";
import { errorInfoIn } from "../wire/errors.ts";

/** The format of errors. Every server has one for an unknown task. */
export const ERROR_FORMS: readonly Probe[] = [
  {
    name: "message",
    says: "An error has a message.",
    claims: [must("v1-S49", "§3.3.2"), must("v03-S11", "§6.12")],
    async run(scene) {
      const { error, exchange } = await unknownTaskError(scene);
      if (error.message === "") throw new Failed("an error with a message", exchange);
    },
  },
  {
    name: "typed-details",
    says: "The details of an error are objects with an @type.",
    claims: [must("v1-S49", "§9.5, §11.6")],
    bindings: ["jsonrpc", "rest"],
    async run(scene) {
      const { body, error, exchange } = await unknownTaskError(scene);
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
    run: expectErrorInfo,
  },
  {
    name: "error-info",
    says: "An error has an ErrorInfo with its reason and the domain a2a-protocol.org.",
    claims: [must("v1-S51", "§11.6")],
    bindings: ["rest"],
    run: expectErrorInfo,
  },
  {
    name: "error-info",
    says: "The status of an error has an ErrorInfo with its reason and the domain a2a-protocol.org.",
    claims: [must("v1-S53", "§10.6")],
    bindings: ["grpc"],
    run: expectErrorInfo,
  },
  {
    name: "error-body",
    says: "The body of an error is a google.rpc.Status.",
    claims: [must("v1-S51", "§11.6")],
    bindings: ["rest"],
    async run(scene) {
      const { body, error, exchange } = await unknownTaskError(scene);
      const status = at(body, "error");
      const isStatus = isObject(status) && textAt(status, "status") !== "";
      if (isStatus && status["code"] === error.http && textAt(status, "message") !== "") return;
      throw new Failed("{error: {code, status, message, details}} with the HTTP status", exchange);
    },
  },
  {
    name: "error-body",
    says: "An error is JSON with a status from 400 to 499.",
    claims: [must("v03-S8", "§3.2.3")],
    bindings: ["rest"],
    async run(scene) {
      const { body, error, exchange } = await unknownTaskError(scene);
      const isFitting = error.http !== undefined && error.http >= 400 && error.http < 500;
      if (isObject(body) && isFitting) return;
      throw new Failed("JSON, and a status from 400 to 499", exchange);
    },
  },
];

async function expectErrorInfo(scene: Scene): Promise<void> {
  const { error, exchange } = await unknownTaskError(scene);
  const info = errorInfoIn(error.details);
  const isRight = textAt(info, "reason") === "TASK_NOT_FOUND";
  if (isRight && textAt(info, "domain") === "a2a-protocol.org") return;
  throw new Failed("an ErrorInfo with TASK_NOT_FOUND and a2a-protocol.org", exchange);
}

async function unknownTaskError(scene: Scene): Promise<ErrorResponse> {
  const response = await scene.call("getTask", scene.requests.get(UNKNOWN_TASK));
  if (response.kind === "error") return response;
  throw new Failed("the error TaskNotFound", response.exchange);
}
