import type { SessionProbe } from '../api/session-probe.ts';
import type { ProxySettings } from '../config/proxy.ts';
import type { ServiceSettings, Sourced } from '../config/settings.ts';
import type { Leaf } from '../contract/contract.ts';
import type { Scope } from '../contract/scopes.ts';
import type { PartnerctlError } from '../errors.ts';
import type { StateLocation } from '../state/location.ts';

/** A value, or the error that prevented finding it. */
export type Result<Value> =
  | { readonly value: Value; readonly error?: undefined }
  | { readonly value?: undefined; readonly error: PartnerctlError };

/** The outcome of one read call to the service. */
export interface Probe {
  /** The HTTP status; undefined if there was no response. */
  readonly status: number | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly error: PartnerctlError | undefined;
  /** The local time when the response arrived, in milliseconds since the epoch. */
  readonly at: number;
  /** How long the response took, in milliseconds. */
  readonly ms: number;
}

/** A list that was read to check the token's scopes and the contract. */
export interface ListRead {
  /** `the list of spaces` */
  readonly what: string;
  readonly scope: Scope;
  /** The commands that need the scope. */
  readonly neededBy: string;
  /** What the types of the records begin with that those commands write to the state. */
  readonly recordedAs: string;
  readonly error: PartnerctlError | undefined;
}

/** What was found in the state. */
export interface StateFacts {
  readonly location: StateLocation;
  readonly exists: boolean;
  readonly isWritable: boolean;
  readonly records: number;
  /** The number of records by type. */
  readonly types: Readonly<Record<string, number>>;
  /** The lines that cannot be used. */
  readonly damaged: readonly { readonly line: number; readonly why: string }[];
}

/** The input of the checks. A field is undefined if an earlier failure prevented finding it. See also `gatherFacts`. */
export interface Facts {
  readonly version: string;
  readonly nodeVersion: string;
  /** The oldest supported version of Node.js: `20.18.1`. */
  readonly minimumNode: string;
  readonly isCi: boolean;
  readonly profiles: Result<{ readonly names: readonly string[]; readonly isExposed: boolean }>;
  readonly profilesPath: string;
  readonly settings: Result<ServiceSettings>;
  /** The profile's base URL, if a flag or the environment overrides it with a different service. */
  readonly overridden: Sourced<string> | undefined;
  readonly proxy: Result<ProxySettings | undefined> | undefined;
  /** The addresses of the service's host, or the code of the DNS error. */
  readonly lookup: { readonly addresses: readonly string[] } | { readonly code: string } | undefined;
  /** Undefined if there is a token. */
  readonly tokenError: PartnerctlError | undefined;
  readonly probe: Probe | undefined;
  readonly lists: readonly ListRead[];
  /** Whether the service heeds which session a history is requested of; undefined if no agent shows its source. */
  readonly session: SessionProbe | undefined;
  readonly leaves: readonly Leaf[];
  /** Undefined if --timeout ended before. */
  readonly state: Result<StateFacts> | undefined;
}
