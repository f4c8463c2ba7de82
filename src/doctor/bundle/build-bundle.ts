import type { ServiceSettings } from '../../config/settings.ts';
import { Contract, type Leaf } from '../../contract/contract.ts';
import type { Check } from '../check.ts';
import type { Facts } from '../facts.ts';
import { type BundledExchange, ExchangeRedactor, type SeenExchange } from './exchange.ts';
import { Pseudonyms } from './pseudonyms.ts';
import { BodyRedactor } from './redact-body.ts';
import { TextRedactor } from './redact-text.ts';
import { isServiceWord } from './vocabulary.ts';

/** The version of the format. Readers refuse later versions. */
const BUNDLE_VERSION = 1;

/** Further requests of the included trace are left out. */
const MAX_EXCHANGES = 5_000;

/** The input of `buildBundle`. */
export interface BundleParts {
  readonly facts: Facts;
  readonly checks: readonly Check[];
  /** The requests of doctor itself. */
  readonly exchanges: readonly SeenExchange[];
  /** The requests of the included trace. */
  readonly included: readonly SeenExchange[];
  readonly platform: string;
  /** The user's home directory. */
  readonly home: string | undefined;
  /** The current time, in ISO 8601. */
  readonly at: string;
  /** Random bytes that the pseudonyms are derived from. */
  readonly key: Uint8Array;
  /** Replaces secrets in a text. */
  readonly redact: (text: string) => string;
}

/** A line of a bundle. */
export type BundleLine = { readonly kind: string } & Readonly<Record<string, unknown>>;

function contractOf(leaves: readonly Leaf[]): Contract {
  const of = (source: Leaf['source']) =>
    Object.fromEntries(leaves.filter((leaf) => leaf.source === source).map(({ name, value }) => [name, value]));
  return new Contract({ override: of('override'), imported: of('imported'), observed: of('observed') });
}

function serviceOf(settings: ServiceSettings | undefined, contract: Contract) {
  const url = new URL(settings?.baseUrl.value ?? 'http://localhost/v1');
  return { origin: url.origin, basePath: url.pathname.replace(/\/$/, ''), contract };
}

/** Removes credentials, the query, and the fragment of a URL. */
function bareUrl(text: string): string {
  if (!URL.canParse(text)) return text;
  const { protocol, host, pathname } = new URL(text);
  return `${protocol}//${host}${pathname}`;
}

/** Redacts the program's own texts: replaces values known to be private, and the user's home directory. */
class MessageRedactor {
  private readonly pseudonyms: Pseudonyms;
  private readonly parts: BundleParts;

  constructor(pseudonyms: Pseudonyms, parts: BundleParts) {
    this.pseudonyms = pseudonyms;
    this.parts = parts;
  }

  /** Marks the words of a path or a name as private, except for common directories and this program's own words. */
  hide(
    text: string | undefined,
    except = /^(default|state|jsonl|json|config|partnerctl|localhost|tmp|var|lib|etc|home|usr|local|share|srv|opt|postgres|postgresql|git|ssh|https?|file)$/,
  ): void {
    for (const run of this.withoutHome(text ?? '').match(/[\p{L}\p{M}\p{N}]+/gu) ?? [])
      if (!except.test(run)) this.pseudonyms.of(run);
  }

  redact(text: string): string {
    const bare = this.parts.redact(this.withoutHome(text)).replace(/(?<=:\/\/)[^\s/@]+@/g, '');
    // A word that the message truncated would not be recognized as private.
    const withoutTruncated = bare.replace(/[\p{L}\p{M}\p{N}]+(?=…)/gu, (run) =>
      isServiceWord(run) ? run : this.pseudonyms.of(run),
    );
    return this.pseudonyms.replaceKnown(withoutTruncated);
  }

  private withoutHome(text: string): string {
    const { home } = this.parts;
    return home === undefined || home.length < 2 ? text : text.replaceAll(home, '~');
  }
}

function describeSettings({ facts }: BundleParts, messages: MessageRedactor): BundleLine {
  const { settings, proxy, state } = facts;
  if (settings.value === undefined) return { kind: 'settings', error: messages.redact(settings.error.message) };
  const { profile, baseUrl, token, shadowed } = settings.value;
  const sourced = (value: string, from: string) => ({ value, from: messages.redact(from) });
  return {
    kind: 'settings',
    base_url: sourced(bareUrl(baseUrl.value), baseUrl.from),
    profile: sourced(messages.redact(profile.value), profile.from),
    token: { from: token === undefined ? null : messages.redact(token.from) },
    proxy: proxy?.value ? sourced(messages.redact(new URL(proxy.value.url).host), proxy.value.from) : null,
    state: state?.value ? sourced(messages.redact(state.value.location.address), state.value.location.from) : null,
    shadowed: shadowed.map((line) => messages.redact(line)),
  };
}

function describeState({ facts: { state } }: BundleParts, messages: MessageRedactor): BundleLine {
  if (state === undefined) return { kind: 'state', error: 'not read: --timeout ended before' };
  if (state.value === undefined) return { kind: 'state', error: messages.redact(state.error.message) };
  const { location, exists, isWritable, types, unusable } = state.value;
  return {
    kind: 'state',
    store: location.kind,
    exists,
    writable: isWritable,
    records: types,
    unusable: unusable.map(({ line, why }) => ({ line, why: messages.redact(why) })),
  };
}

function describeContract({ facts, redact }: BundleParts): BundleLine {
  const open = facts.leaves.filter(({ source }) => source !== 'spec');
  const values = open.map(({ name, value, source }) => ({ leaf: name, value: redact(value), source }));
  return { kind: 'contract', values };
}

function describeChecks({ checks }: BundleParts, messages: MessageRedactor): BundleLine[] {
  return checks.map(({ name, status, message, hint, failure }) => ({
    kind: 'check',
    name,
    status,
    message: messages.redact(message),
    hint: hint === null ? null : messages.redact(hint),
    error: failure ? failure.type : null,
  }));
}

/** Marks the private values of this machine's settings. */
function hideSettings({ facts }: BundleParts, messages: MessageRedactor): void {
  for (const name of facts.profiles.value?.names ?? []) messages.hide(name);
  messages.hide(facts.settings.value?.profile.value);
  // The error may quote the name of a profile that does not exist.
  for (const [quoted] of facts.settings.error?.message.matchAll(/"[^"]*"/g) ?? []) messages.hide(quoted);
  const proxy = facts.proxy?.value;
  if (proxy) messages.hide(`${new URL(proxy.url).hostname} ${proxy.noProxy}`);
  messages.hide(facts.profilesPath);
  messages.hide(facts.state?.value?.location.address);
  const { token } = facts.settings.value ?? {};
  if (token?.kind === 'file') messages.hide(token.path);
  if (token?.kind === 'command') messages.hide(token.command);
}

/**
 * Builds a support bundle: what support needs to reproduce a failure, without secrets, names, texts, and ids. Pure.
 * @returns its lines, and how many requests it contains and omits
 */
export function buildBundle(parts: BundleParts): { lines: readonly BundleLine[]; exchanges: number; omitted: number } {
  const { facts, exchanges, included, at, platform, key } = parts;
  const contract = contractOf(facts.leaves);
  const pseudonyms = new Pseudonyms(key);
  const texts = new TextRedactor(pseudonyms, serviceOf(facts.settings.value, contract));
  const roles = [...contract.values('message.author.agent'), ...contract.values('message.author.user')];
  const bodies = new BodyRedactor(pseudonyms, texts, new Set(roles.map((role) => role.toLowerCase())));
  const redactor = new ExchangeRedactor(texts, bodies);
  const messages = new MessageRedactor(pseudonyms, parts);
  const ofDoctor = exchanges.map((seen) => redactor.redact(seen, 'doctor'));
  hideSettings(parts, messages);
  // Do this before the included requests, whose private words would be replaced here, too.
  const described = [
    describeSettings(parts, messages),
    describeContract(parts),
    describeState(parts, messages),
    ...describeChecks(parts, messages),
  ];
  const kept = included.slice(0, MAX_EXCHANGES);
  const all: readonly BundledExchange[] = [...ofDoctor, ...kept.map((seen) => redactor.redact(seen, 'included'))];
  const head = { kind: 'bundle', version: BUNDLE_VERSION, created_at: at, partnerctl: facts.version };
  return {
    lines: [{ ...head, node: facts.nodeVersion, platform }, ...described, ...all.map((exchange) => ({ ...exchange }))],
    exchanges: all.length,
    omitted: included.length - kept.length,
  };
}
