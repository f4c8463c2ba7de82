import type { Kind } from '../contract/resources.ts';
import type { ErrorStyle } from './errors.ts';
import type { Words } from './maker.ts';
import type { Case } from './names.ts';
import type { Paging } from './paging.ts';

/** How the history is asked for, and what it answers. Names are those of parameters. */
interface History {
  /** By POST the parameters are a JSON body. */
  readonly method?: 'GET' | 'POST';
  readonly source?: string;
  readonly session?: string;
  readonly after?: string;
  /** Whether the message of the cursor comes again. */
  readonly isInclusive?: boolean;
  readonly isNewestFirst?: boolean;
  /** Whether the session is ignored, so that the messages of every session of the source come. */
  readonly isEverySession?: boolean;
  /** Whether a session without messages is 404. */
  readonly isEmptyNotFound?: boolean;
  /** Whether the next page begins after the last message of this one: no page has another parameter, or a count. */
  readonly isPagedByCursor?: boolean;
}

/** What a JSON body of a request looks like. */
interface RequestNames {
  readonly case?: Case;
  /** Where the fields are, such as `data/attributes`; `{singular}` stands for the resource's name. */
  readonly at?: string;
  /** Fields by other names. */
  readonly fields?: Readonly<Record<string, string>>;
  /** The form field of an uploaded file; `file` by default. */
  readonly file?: string;
}

/** A redirect to the address with, or without, the closing slash. */
interface SlashRedirect {
  readonly slash: 'add' | 'drop';
  readonly status: 301 | 302 | 307 | 308;
  /** Whether `Location` is only a path. */
  readonly isPath?: boolean;
}

/**
 * A dialect of the service: the same operations, with other names, envelopes, pages, and errors. Each property is one
 * trait, independent of the others; without it the service does what it does by itself.
 */
export interface Shape {
  readonly name: string;
  /** One line for the list of shapes. */
  readonly description: string;
  /** How the names of fields in answers are written. */
  readonly case?: Case;
  /** The name of every resource's own identifier. */
  readonly id?: string;
  /** Fields of answers by other names: `text`, or `message.text` for one kind of resource only. */
  readonly fields?: Readonly<Record<string, string>>;
  readonly author?: {
    readonly name: string;
    /** A word, an object with the word in `type`, or whether an agent wrote it. */
    readonly form: 'word' | 'object' | 'flag';
    readonly words?: Words;
  };
  /** How the text of a message is given: as a list of parts, or as an object. */
  readonly text?: 'parts' | 'object';
  /** What `created_at` is; in ISO 8601 by default. */
  readonly time?: 'epoch_seconds' | 'epoch_milliseconds';
  /** Where the fields of a resource are: beside the identifier by default. */
  readonly nesting?: 'attributes' | 'properties' | 'metadata';
  /** What is added to each resource: links to it. */
  readonly links?: 'hal' | 'self';
  /** What each item of a list is wrapped in. */
  readonly item?: 'node' | 'singular';
  /** Where the items of a list are: `results` by default; `{plural}` stands for the resources' name. */
  readonly list?: string;
  /** Where a single resource is; `{singular}` stands for its name. */
  readonly single?: string;
  /** What stands in every body of success. */
  readonly constants?: Readonly<Record<string, string | boolean>>;
  readonly emptyList?: 'null';
  /** Without it every list is whole. */
  readonly paging?: Paging;
  readonly history?: History;
  readonly errors?: ErrorStyle;
  /** Whether an invalid request and a missing resource are answered with status 200. */
  readonly isErrorOk?: boolean;
  /** How a success of a write is answered: a body by default. */
  readonly writes?: {
    readonly status: 200 | 201 | 202 | 204;
    /** Whether there is only a `Location` instead of a body. */
    readonly isLocationOnly?: boolean;
    /** The kinds that are answered so; all of them by default. */
    readonly kinds?: readonly Kind[];
  };
  readonly redirect?: SlashRedirect;
  readonly request?: RequestNames;
  /** How the document describes all of it. */
  readonly document?: {
    /** 3.1.0 by default. */
    readonly version?: '3.0.3';
    /** Whether the common part of all pages has its own schema. */
    readonly isComposed?: boolean;
  };
}
