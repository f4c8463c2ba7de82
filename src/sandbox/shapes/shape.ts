import type { Kind } from '../contract/resources.ts';
import type { ErrorStyle } from './errors.ts';
import type { RoleNames } from './maker.ts';
import type { Case } from './names.ts';
import type { Paging } from './paging.ts';

/** How the history is read. `source`, `session`, and `after` are names of parameters. */
interface History {
  /** By POST the parameters are a JSON body. */
  readonly method?: 'GET' | 'POST';
  readonly source?: string;
  readonly session?: string;
  readonly after?: string;
  /** Whether a page repeats the message of the cursor. */
  readonly isInclusive?: boolean;
  readonly isNewestFirst?: boolean;
  /** Whether the session parameter is ignored: the history has the messages of every session of the source. */
  readonly ignoresSession?: boolean;
  /** Whether a session without messages is 404. */
  readonly isEmptyNotFound?: boolean;
  /** Whether the cursor alone selects the page: there is no page parameter, and no count. */
  readonly isPagedByCursor?: boolean;
}

/** How request bodies differ. */
interface RequestNames {
  readonly case?: Case;
  /** Where the fields are, such as `data/attributes`; `{singular}` stands for the resource's name. */
  readonly at?: string;
  /** Other names for fields, by the plain name. */
  readonly fields?: Readonly<Record<string, string>>;
  /** The form field of an uploaded file; `file` by default. */
  readonly file?: string;
}

/** A redirect that adds or drops the trailing slash. */
interface SlashRedirect {
  readonly slash: 'add' | 'drop';
  readonly status: 301 | 302 | 307 | 308;
  /** Whether `Location` is only a path. */
  readonly isPath?: boolean;
}

/**
 * A dialect of the service: the same operations with other names, envelopes, pages, and errors. Each property is one
 * independent trait; without it, the service does what it does in the plain shape.
 */
export interface Shape {
  readonly name: string;
  /** One line for the list of shapes. */
  readonly description: string;
  /** The case of field names in responses. */
  readonly case?: Case;
  /** The name of every resource's own identifier. */
  readonly id?: string;
  /** Other names for fields of responses, by the plain name: `text`, or `message.text` for one kind of resource. */
  readonly fields?: Readonly<Record<string, string>>;
  readonly author?: {
    readonly name: string;
    /** The role as a string, an object with the role in `type`, or a flag: whether an agent wrote it. */
    readonly form: 'string' | 'object' | 'flag';
    readonly roles?: RoleNames;
  };
  /** The form of the text of a message: a list of parts, or an object; a string by default. */
  readonly text?: 'parts' | 'object';
  /** The format of `created_at`; ISO 8601 by default. */
  readonly time?: 'epoch_seconds' | 'epoch_milliseconds';
  /** Where the fields of a resource are: beside the identifier by default. */
  readonly nesting?: 'attributes' | 'properties' | 'metadata';
  /** How each resource links to itself; not at all by default. */
  readonly links?: 'hal' | 'self';
  /** What each item of a list is wrapped in. */
  readonly item?: 'node' | 'singular';
  /** Where the items of a list are: `results` by default; `{plural}` stands for the resources' name. */
  readonly list?: string;
  /** Where a single resource is; `{singular}` stands for its name. */
  readonly single?: string;
  /** Fields of every successful body. */
  readonly constants?: Readonly<Record<string, string | boolean>>;
  readonly emptyList?: 'null';
  /** Without it, lists have no pages. */
  readonly paging?: Paging;
  readonly history?: History;
  readonly errors?: ErrorStyle;
  /** Whether the errors of invalid requests and missing resources have status 200. */
  readonly errorsAreOk?: boolean;
  /** The response to a successful write. */
  readonly writes?: {
    readonly status: 200 | 201 | 202 | 204;
    /** Whether it has a `Location` in place of a body. */
    readonly isLocationOnly?: boolean;
    /** The kinds of resources that this is for; all by default. */
    readonly kinds?: readonly Kind[];
  };
  readonly redirect?: SlashRedirect;
  readonly request?: RequestNames;
  /** How the OpenAPI document is written. */
  readonly document?: {
    /** 3.1.0 by default. */
    readonly version?: '3.0.3';
    /** Whether the common part of all pages has its own schema. */
    readonly isComposed?: boolean;
  };
}

/** What the edge passes to the routes about a request in another shape. */
export interface ShapedRequest {
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
