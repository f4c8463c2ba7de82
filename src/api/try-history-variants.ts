import { describeParameters } from '../contract/assumptions.ts';
import type { Contract } from '../contract/contract.ts';
import {
  type HistoryDoubt,
  type HistoryVariant,
  historyVariants,
  POST_HISTORY,
  varyHistory,
} from '../contract/history-variants.ts';
import { ForeignMessages } from '../contract/message-session.ts';
import {
  ErrorInSuccessBody,
  FIX_COMPLAINT,
  NotFoundError,
  PartnerctlError,
  RefusedError,
  ShapeError,
} from '../errors.ts';
import { type AskedParameter, OtherParametersAsked } from './refusal-hints.ts';

/** The history has this many parameters, each of which a refusal may name. */
const MAX_REFUSALS = 3;

/** Whether a 404 says nothing of what was not found, as where there is no such path. */
export function isBare404(error: PartnerctlError): boolean {
  if (!(error instanceof NotFoundError)) return false;
  const text = `${error.info.code ?? ''} ${error.info.why ?? ''}`.replace(/\S*\/\S*/g, '');
  return !/source|session|conversation|thread|message/i.test(text);
}

/** Returns what a failure of the first request says against the assumed request; undefined if nothing. */
export function doubtOf(error: unknown): HistoryDoubt | undefined {
  if (!(error instanceof PartnerctlError)) return undefined;
  if (error.info.fromGateway && !(error instanceof NotFoundError) && error.info.status !== 405) return undefined;
  if (error.cause instanceof ForeignMessages) return 'names';
  if (isBare404(error) || error.info.status === 405 || error instanceof ErrorInSuccessBody) return 'method';
  const isComplaint = error.info.status === 400 || error.info.status === 422;
  return error instanceof RefusedError && isComplaint ? 'names' : undefined;
}

/** Asks by one variant. @returns undefined if the response does not prove it right @throws PartnerctlError */
export type TryVariant<Found> = (variant: HistoryVariant) => Promise<Found | undefined>;

/** What the variant that proved right led to, or the error that tells most about why none did. */
export type VariantOrError<Found> = { readonly found: Found } | { readonly error: unknown };

/** A variant that the service answers with a refusal, or with something unreadable, is not the right one. */
export function rethrowUnlessAnswered(error: unknown): undefined {
  if (!(error instanceof PartnerctlError) || error.info.status === undefined) throw error;
  return undefined;
}

/** Asks by the names that the service itself asks for, in one refusal or in several. */
async function tryAskedNames<Found>(
  error: unknown,
  contract: Contract,
  tryVariant: TryVariant<Found>,
): Promise<VariantOrError<Found>> {
  const asked = new Map<string, AskedParameter>();
  let refusal = error;
  for (let count = 0; count < MAX_REFUSALS && refusal instanceof OtherParametersAsked; count += 1) {
    for (const parameter of refusal.asked) asked.set(parameter.leaf, parameter);
    const certain = [...asked.values()].filter(({ isCertain }) => isCertain);
    const variant = varyHistory(contract, Object.fromEntries(certain.map(({ leaf, value }) => [leaf, value])));
    if (variant === undefined || certain.length < asked.size) break;
    try {
      const found = await tryVariant(variant);
      if (found !== undefined) return { found };
      break;
    } catch (cause) {
      rethrowUnlessAnswered(cause);
      refusal = cause;
    }
  }
  if (!(error instanceof OtherParametersAsked) || asked.size === error.asked.length) return { error };
  // One refusal after the other: their names belong into one command.
  const hint = `${FIX_COMPLAINT}\n${describeParameters([...asked.values()])}`;
  return { error: new RefusedError(error.message, { ...error.info, hint }) };
}

/** Tries the variants of the request for a history, after the first request failed in a way that leaves a doubt about it. */
export async function tryHistoryVariants<Found>(
  error: unknown,
  contract: Contract,
  tryVariant: TryVariant<Found>,
): Promise<VariantOrError<Found>> {
  const doubt = doubtOf(error);
  if (doubt === undefined) return { error };
  const asked = await tryAskedNames(error, contract, tryVariant);
  if ('found' in asked) return asked;
  for (const variant of historyVariants(contract, doubt)) {
    const found = await tryVariant(variant).catch(rethrowUnlessAnswered);
    if (found !== undefined) return { found };
  }
  return asked;
}

/** A failure under a status of success may be about the method, although it does not say so. */
export function withOtherMethod(error: unknown): unknown {
  if (!(error instanceof ErrorInSuccessBody)) return error;
  const command = `partnerctl contract set messages.history '${POST_HISTORY}'`;
  return new ErrorInSuccessBody(error.message, {
    ...error.info,
    hint: `If histories are read in another way, say so, such as: ${command}`,
  });
}

/** The error for a history that ignores the message to read after, and in which that message is not found. */
export function createNoCursorError(): ShapeError {
  return new ShapeError('The history ignores the message to read after, and does not have that message.', {
    why: 'The service responded with the same messages, whichever message it was to read after.',
    hint: [
      'Check the id of the message. If it is right, say how it is named, such as:',
      'partnerctl contract set messages.history.after_message_id query:after',
      'or how pages are requested, such as: partnerctl contract set messages.history.next token:next_cursor:cursor',
    ].join('\n'),
    details: { operation: 'readHistory', leaf: 'messages.history.after_message_id' },
  });
}
