import type { Caller } from "@convoke/protocol";
import { type HttpRequest, header } from "../http/exchange.ts";
import { forwardedOf } from "../http/forwarded.ts";
import { type Authenticate, authenticateNobody, createBearerCheck } from "./authenticate.ts";
import { createHostCheck } from "./check-host.ts";

export interface GuardOptions {
  readonly token?: string;
  readonly allowedHosts?: readonly string[];
  /** Whether the name that a proxy was reached by is checked as well. */
  readonly trustProxy?: boolean;
}

/** The one gate that every request passes, whatever its path. */
export class Guard {
  #checkName: (host: string | undefined) => void;
  #trustProxy: boolean;
  #authenticate: Authenticate;

  constructor({ token, allowedHosts = [], trustProxy = false }: GuardOptions) {
    this.#checkName = createHostCheck(allowedHosts);
    this.#trustProxy = trustProxy;
    this.#authenticate = token === undefined ? authenticateNobody : createBearerCheck(token);
  }

  /** For what everyone may read, such as the card. */
  admit(request: HttpRequest): void {
    this.#checkHost(request);
  }

  /** For everything else: who calls. */
  identify(request: HttpRequest): Caller {
    this.#checkHost(request);
    return this.#authenticate(header(request, "authorization"));
  }

  #checkHost(request: HttpRequest): void {
    this.#checkName(header(request, "host"));
    const { host } = this.#trustProxy ? forwardedOf(request) : {};
    if (host !== undefined) this.#checkName(host);
  }
}
