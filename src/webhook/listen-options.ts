import { UsageError } from '../errors.ts';
import { parseScheme, type Scheme, type SchemeOptions } from './scheme.ts';
import { parseTarget } from './target.ts';

/** The options of `webhook listen` as typed. */
export interface TypedListenOptions extends SchemeOptions {
  readonly port: number;
  readonly path?: string | undefined;
  readonly forwardTo?: string | undefined;
  readonly save?: string | undefined;
  readonly exitAfter?: number | undefined;
}

export interface ListenOptions {
  /** 0 for a free one. */
  readonly port: number;
  /** A random one by default. */
  readonly path: string | undefined;
  /** Where to forward deliveries; undefined for nowhere. */
  readonly target: URL | undefined;
  readonly scheme: Scheme;
  readonly secretFile: string | undefined;
  /** Where to save deliveries; undefined for nowhere. */
  readonly directory: string | undefined;
  /** How many deliveries to accept; undefined for any number. */
  readonly exitAfter: number | undefined;
}

/** Reads the options of `webhook listen`. @throws UsageError if they are invalid or contradict each other */
export function parseListenOptions(options: TypedListenOptions): ListenOptions {
  const { port, path, forwardTo, save: directory, secretFile, exitAfter } = options;
  if (path !== undefined && !/^\/[\w.~!$&'()*+,;=:@%/-]*$/.test(path)) {
    throw new UsageError(`--path must begin with a slash, without a query: ${JSON.stringify(path)}.`, {
      hint: 'For example: --path /webhooks',
    });
  }
  const target = forwardTo === undefined ? undefined : parseTarget(forwardTo);
  if (target?.protocol === 'http:' && port !== 0 && Number(target.port || 80) === port) {
    throw new UsageError(`--forward-to and --port use the same port: ${port}.`, {
      hint: 'Use another port for your program, or omit --port.',
    });
  }
  return { port, path, target, scheme: parseScheme(options), secretFile, directory, exitAfter };
}
