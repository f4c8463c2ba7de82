/** The data of one request in another shape that the edge of the service and the routes share. */
export interface Exchange {
  /** The request as the caller sent it. */
  readonly received: { readonly method: string; readonly path: string; readonly query: string };
  /** Gives a JSON body the service's own names. @throws Problem 422 for other names */
  readonly decodeBody: (body: unknown) => unknown;
  /** The form field of an uploaded file. */
  readonly fileField: string;
  /** Whether lists are to be answered whole: the edge pages them. */
  readonly isWhole: boolean;
  /** Whether the history has the messages of every session of the source. */
  readonly isEverySession: boolean;
  /** Whether `decodeBody` refused the body: the problem is in the caller's names. */
  isRefused?: boolean;
}
