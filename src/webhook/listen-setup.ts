import { hash, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import type { Context } from '../cli/context.ts';
import { readContractLayers } from '../config/contract-file.ts';
import { readWebhookSecrets } from '../config/webhook-secret.ts';
import { Contract } from '../contract/contract.ts';
import { UsageError } from '../errors.ts';
import type { Scheme } from './scheme.ts';

/** `webhook listen` as typed. */
export interface ListenInput {
  readonly port: number;
  readonly path: string | undefined;
  readonly target: URL | undefined;
  readonly relaysStatus: boolean;
  readonly scheme: Scheme;
  readonly secretFile: string | undefined;
  readonly printsSecret: boolean;
  readonly directory: string | undefined;
  readonly exitAfter: number | undefined;
}

function makeSecret({ kind }: Scheme): string {
  return kind === 'hmac' ? randomBytes(32).toString('hex') : `whsec_${randomBytes(32).toString('base64')}`;
}

/**
 * Finds the secrets to verify with.
 * @returns at least one, unless the scheme is `none`
 * @throws UsageError if the scheme needs a secret and none is given
 */
export async function findSecrets(context: Context, { scheme, secretFile, printsSecret }: ListenInput) {
  const { env, io, flags, abortSignal, addSecret, warn } = context;
  if (scheme.kind === 'none') {
    if (env.PARTNER_WEBHOOK_SECRET)
      await warn('PARTNER_WEBHOOK_SECRET is set, but nothing is verified without --verify.');
    return [];
  }
  if (secretFile === '-' && flags.tokenFile === '-') {
    throw new UsageError('Standard input cannot be both the webhook secret and the token.');
  }
  const found = await readWebhookSecrets({ secretFile, env, stdin: () => io.stdin, signal: abortSignal });
  if (!found && !printsSecret) {
    throw new UsageError(`--verify ${scheme.kind} needs the secret of the webhook.`, {
      hint: 'Set PARTNER_WEBHOOK_SECRET, give --secret-file <path>, or add --print-secret to create one.',
    });
  }
  const secrets = found?.secrets ?? [makeSecret(scheme)];
  if (!printsSecret) for (const secret of secrets) addSecret(secret);
  return secrets;
}

/** Reads the contract of the configured service, or the defaults. As a side effect, its tokens are redacted from then on. */
export async function findContract({ config, env, addSecret, baseUrl, contractKey }: Context): Promise<Contract> {
  if (env.PARTNER_TOKEN) addSecret(env.PARTNER_TOKEN);
  if ((await baseUrl()) === undefined) return new Contract();
  return new Contract(await readContractLayers(config.directory, await contractKey()));
}

/** Counts requests that are not deliveries, and reports them at 1, 10, 100, …. */
export class RefusedRequests {
  private readonly counts = new Map<number, number>();
  private total = 0;
  private readonly notice: Context['notice'];

  constructor(notice: Context['notice']) {
    this.notice = notice;
  }

  add(status: number): void {
    this.total += 1;
    this.counts.set(status, (this.counts.get(status) ?? 0) + 1);
    if (!Number.isInteger(Math.log10(this.total))) return;
    const counts = [...this.counts].map(([statusCode, count]) => `${statusCode}: ${count}`).join(', ');
    const requests = this.total === 1 ? '1 request was' : `${this.total} requests were`;
    void this.notice(`${requests} refused because of the path, the method, or the size (${counts}).`);
  }
}

/** Returns the directory where deliveries are saved; undefined if they are not. */
export async function spoolDirectory(
  context: Context,
  { directory, target }: ListenInput,
): Promise<string | undefined> {
  if (directory !== undefined || !target) return directory;
  return join(await context.privateDirectory(), 'webhooks', hash('sha256', target.href, 'hex').slice(0, 24));
}
