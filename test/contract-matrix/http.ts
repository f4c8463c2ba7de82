/** The response of a service. */
export interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string | string[]>>;
  /** Sent as JSON; nothing is sent if it is undefined. */
  readonly body?: unknown;
}

/** A failure that a service describes in one sentence, in its own error format. */
export class ServiceError extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, sentence: string) {
    super(sentence);
    this.status = status;
    this.code = code;
  }
}

/** A request as a service sees it. */
export interface ServiceRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}
