import type { Id, IdStyle, MoreFacts } from './facts.ts';
import type { Answer } from './http.ts';
import type { Paging } from './paging.ts';
import type { Names, Resource, Wire } from './wire.ts';

/** How the history is read. By default as specified, oldest first, without the message of the cursor. */
interface History {
  readonly method?: 'GET' | 'POST';
  /** The status of a request with another method. By default 405. */
  readonly otherMethod?: number;
  /** The names of the parameters. */
  readonly parameters?: { readonly source: string; readonly session: string; readonly after: string };
  /** The response to a request without its source or session: an error, or the messages of all sessions. */
  readonly unscoped?: 'refused' | 'everything';
  readonly order?: 'oldest first' | 'newest first';
  readonly cursor?: 'exclusive' | 'inclusive' | 'ignored';
  /** How it pages, if not like the other lists. */
  readonly paging?: Paging;
  readonly pageSize?: number;
  /** Whether neighboring messages can have the same timestamp. */
  readonly isCoarse?: boolean;
}

export type Write = 'provision' | 'setup' | 'send' | 'create job' | 'upload';

/** How a service fills the gaps of the specification. Omitted fields are as specified, or the most usual. */
export interface Service {
  readonly name: string;
  /** What responds like this. */
  readonly like: string;
  readonly ids?: IdStyle;
  /** Whether ids of 19 digits are sent as numbers, which JavaScript cannot hold. */
  readonly hasBigNumbers?: true;
  readonly names?: Names;
  readonly more?: MoreFacts;
  /** A message of the service itself in the session about every message that it accepts, before the reply. */
  readonly announce?: (text: string) => string;
  /** Whether a new job is listed only a second later. */
  readonly listsJobsLate?: true;
  /** Whether it compresses its responses. */
  readonly isCompressed?: true;
  readonly paging: Paging;
  /** How individual lists page, if not like the others. */
  readonly pagings?: Partial<Record<Resource, Paging>>;
  /** The number of items on a page; the history has its own. By default two. */
  readonly pageSize?: number;
  /** Headers of every response. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The media type of responses. By default JSON. */
  readonly mediaType?: string;
  /** How one resource is sent. By default the bare object. */
  readonly one?: (resource: Resource, fields: Wire) => unknown;
  /** How a provisioned space is sent. By default like one space, with its `agents`. */
  readonly provisioned?: (space: Wire, agents: readonly Wire[]) => unknown;
  /** The status of responses to writes that create something. By default 201. */
  readonly created?: number;
  /** What such responses have instead of a body. */
  readonly bodiless?: Partial<Record<Write, 'location' | 'nothing'>>;
  /** The response to a write, if it is more than the status and the body. */
  readonly wrote?: (
    write: Write,
    answer: Answer,
    made: { readonly isNew: boolean; readonly location: string },
  ) => Answer;
  readonly history?: History;
  /** What a listed agent shows of its source. By default nothing. */
  readonly agentSource?: (sourceId: Id | null) => Wire;
  /** The body of an error; a string is a page of HTML. By default `{"detail": …}`. */
  readonly error?: (failure: { status: number; code: string; sentence: string; path: string }) => unknown;
  /** The media type of errors. */
  readonly errorType?: string;
  /** The status of all errors, if failures are reported only in the body. */
  readonly errorStatus?: number;
  /** Whether an unknown query parameter is an error. */
  readonly isStrict?: boolean;
  /** What happens to a path with a trailing slash, if paths have none. */
  readonly slash?: { readonly read: number; readonly write: number };
  /** The status of a request for the list of jobs, if there is none. */
  readonly jobsStatus?: number;
  /** The method that lists jobs, if not GET. */
  readonly jobsMethod?: 'POST';
  /** The form field of a file. By default `file`. */
  readonly fileField?: string;
  /**
   * What an operator reads in its documentation, for `partnerctl contract set`: values by leaf. Only differences from the
   * specification.
   */
  readonly documented?: Readonly<Record<string, string>>;
}

/** How a service pages the lists of a resource. */
export function pagingOf({ paging, pagings, history }: Service, resource: Resource): Paging {
  return pagings?.[resource] ?? (resource === 'message' ? history?.paging : undefined) ?? paging;
}
