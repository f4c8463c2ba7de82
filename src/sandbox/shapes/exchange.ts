/** The data of one request in another shape that the edge of the service and the routes share. */
export interface Exchange {
  /** The request as the caller sent it. */
  readonly received: { readonly method: string; readonly path: string; readonly query: string };
  /** Converts a JSON body to the plain names. @throws Problem 422 for unknown names */
  readonly decodeBody: (body: unknown) => unknown;
  /** The form field of an uploaded file. */
  readonly fileField: string;
  /** Whether the routes return whole lists, because the edge pages them. */
  readonly isUnpaged: boolean;
  /** Whether the history has the messages of every session of the source. */
  readonly ignoresSession: boolean;
  /** Whether `decodeBody` refused the body: the problem is in the caller's names. */
  isRefused?: boolean;
}
