import type { ProxySettings } from '../config/proxy.ts';
import type { ServiceSettings, Sourced } from '../config/settings.ts';
import type { Leaf } from '../contract/contract.ts';
import type { Scope } from '../contract/scopes.ts';
import type { PartnerctlError } from '../errors.ts';
import type { StateLocation } from '../state/location.ts';
import type { UnusableLine } from '../state/store.ts';

/** Something that was found out, or why it could not be. */
export type Finding<Value> =
  | { readonly value: Value; readonly error?: undefined }
  | { readonly value?: undefined; readonly error: PartnerctlError };

/** What the service made of one read. */
export interface Probe {
  /** Of the response, if there was one. */
  readonly status: number | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly error: PartnerctlError | undefined;
  /** The machine's time when it was answered, in milliseconds since 1970, and how long that took. */
  readonly at: number;
  readonly ms: number;
}

/** A list that was read to see whether the token may and whether the contract fits. */
export interface ListRead {
  /** `the list of spaces` */
  readonly what: string;
  readonly scope: Scope;
  /** What needs the scope, besides reading this list. */
  readonly neededBy: string;
  /** How the types of records begin that the commands leave which need it. */
  readonly recordedAs: string;
  readonly error: PartnerctlError | undefined;
}

/** What is known of the state. */
export interface StateFacts {
  readonly location: StateLocation;
  readonly exists: boolean;
  readonly isWritable: boolean;
  readonly records: number;
  /** How many records there are of each type. */
  readonly types: Readonly<Record<string, number>>;
  readonly unusable: readonly UnusableLine[];
}

/** What the checks decide upon. Undefined is what could not be looked at because of something before it. */
export interface Facts {
  readonly version: string;
  readonly nodeVersion: string;
  /** The oldest Node.js that the program runs on: `20.18.1`. */
  readonly minimumNode: string;
  readonly isCi: boolean;
  readonly profiles: Finding<{ readonly names: readonly string[]; readonly isExposed: boolean }>;
  readonly profilesPath: string;
  readonly settings: Finding<ServiceSettings>;
  /** The base URL of the profile, if a flag or the environment overrides it with another one. */
  readonly overridden: Sourced<string> | undefined;
  readonly proxy: Finding<ProxySettings | undefined> | undefined;
  /** The addresses of the service's host, or the code of the system's error. */
  readonly lookup: { readonly addresses: readonly string[] } | { readonly code: string } | undefined;
  /** Undefined if there is a token. */
  readonly tokenError: PartnerctlError | undefined;
  readonly probe: Probe | undefined;
  readonly lists: readonly ListRead[];
  readonly leaves: readonly Leaf[];
  readonly state: Finding<StateFacts>;
}
