import {
  isWithoutId,
  OutcomeUnknownError,
  PartnerctlError,
  RunFailure,
  ServiceError,
  ShapeError,
  withHint,
} from '../errors.ts';
import { type Unrecorded, unrecordedError } from '../state-old/unpublished.ts';
import type { BlockingLine } from '../state-old/unusable-lines.ts';
import type { DocumentResult } from './document-result.ts';
import type { ManifestDocument } from './manifest.ts';
import type { OpenSpace } from './post-once.ts';
import type { PresentAgent, PresentSpace, ProvisionPlan } from './provision-plan.ts';
import { inStep } from './run-failure.ts';
import type { SimilarSpace } from './similar-spaces.ts';

const RERUN_HINT = 'Run it again: it reads what exists before it writes.';

/** The failure of a lost POST whose response was unusable: repeating it would get the same response. */
export function unusableResponse({ info: { cause } }: PartnerctlError): PartnerctlError | undefined {
  if (cause instanceof ShapeError) return cause;
  if (!(cause instanceof ServiceError)) return undefined;
  const { status = 0 } = cause.info;
  return status >= 300 && status < 400 ? cause : undefined;
}

/** The error for a lost POST that turned out not to have been carried out, although it was repeated. */
export function lostPostError(error: unknown): unknown {
  if (!(error instanceof PartnerctlError)) return error;
  const message = 'The service failed, and the missing agents were not installed.';
  return unusableResponse(error) ?? new ServiceError(message, { ...error.info, hint: RERUN_HINT });
}

/**
 * Names the agents that a failed request was to install, if the space has others: the service counts them from the first of the
 * request, not from the first of the manifest.
 * @param plan the plan that the request carried out
 */
export function namingAgents(error: unknown, plan: ProvisionPlan | undefined): unknown {
  const agents = plan?.agents ?? [];
  const missing = agents.filter(({ present }) => !present).map(({ wanted }) => JSON.stringify(wanted.name));
  if (missing.length === agents.length || error instanceof OutcomeUnknownError) return error;
  return inStep(
    `${missing.length === 1 ? 'The agent' : 'The agents'} ${missing.join(', ')} cannot be installed`,
    error,
  );
}

/**
 * The final error of a document. Exit 8 (safe to retry) holds even after a lost POST: a rerun reads before it writes.
 * @param lostPost the failure of a POST that may have been carried out, if there is one
 */
export function withLostPost(error: unknown, lostPost: OutcomeUnknownError | undefined): unknown {
  if (!lostPost || !(error instanceof PartnerctlError) || error instanceof OutcomeUnknownError) return error;
  // The failure of a read alone would look as if nothing had been sent.
  const outcome = isWithoutId(lostPost)
    ? 'The service accepted an earlier request'
    : 'The response to an earlier request was lost: the space may or may not have been provisioned';
  return withHint(error, { hint: `${outcome}. ${RERUN_HINT}`, details: {} });
}

function nameAgent({ agent_id, name, template_id }: PresentAgent): string {
  return [agent_id, name, template_id && `(${template_id})`].filter(Boolean).join(' ');
}

/**
 * The reason why the ids of installed agents are not known: neither the response nor the list has them.
 * @param others new agents that may be these
 * @param why why there is no list
 */
export function unlistedAgents(
  spaceId: string,
  names: readonly string[],
  { others, why }: { readonly others: readonly PresentAgent[]; readonly why: string | undefined },
): ShapeError {
  const agents = `${names.length === 1 ? 'agent' : 'agents'} ${names.map((name) => JSON.stringify(name)).join(', ')}`;
  const shown =
    others.length === 0 ? undefined : `New agents with other names or templates: ${others.map(nameAgent).join(', ')}`;
  return new ShapeError(`Neither the response nor the list of agents of ${spaceId} has the ${agents}.`, {
    why: why ?? shown,
    hint: `List the agents with: partnerctl agents list ${spaceId}`,
  });
}

/** The error for an accepted request whose agents are not listed. @param reason as `unlistedAgents` returns it */
export function unlistedOutcome({ manifest }: ManifestDocument, reason: PartnerctlError): OutcomeUnknownError {
  const { message, info } = reason;
  return new OutcomeUnknownError(
    `The outcome of provisioning ${JSON.stringify(manifest.external_space_id)} is unknown.`,
    {
      why: info.why === undefined ? message : `${message}\n${info.why}`,
      cause: reason,
    },
  );
}

/** The error for a space with agents that were installed, and whose ids are not known; undefined without a reason for it. */
export function missingIdsError(
  { space_id, agents }: Pick<DocumentResult, 'space_id' | 'agents'>,
  reason: PartnerctlError | undefined,
): PartnerctlError | undefined {
  if (!reason) return undefined;
  const names = agents.filter(({ agent_id }) => agent_id === null).map(({ name }) => JSON.stringify(name));
  const subject = names.length === 1 ? 'the id of the agent' : 'the ids of the agents';
  const message = `The space is provisioned as ${space_id}, but ${subject} ${names.join(', ')} cannot be read.`;
  const why = [reason.message, reason.info.why].filter((line) => line !== undefined).join('\n');
  const hint = [reason.info.hint, RERUN_HINT].filter((line) => line !== undefined).join('\n');
  return new RunFailure(message, reason, { why, hint });
}

/** The error for agents that were installed in another space than the known one. */
export function otherSpaceError(externalId: string, known: PresentSpace, spaceId: string): ServiceError {
  const id = JSON.stringify(externalId);
  const listed = known.external_space_id;
  return new ServiceError(`The service provisioned ${id} as ${spaceId}; until now, it was ${known.space_id}.`, {
    why:
      listed === undefined || listed === externalId
        ? undefined
        : `It lists ${known.space_id} with the external_space_id ${JSON.stringify(listed)}.`,
    hint: `Compare the two spaces. If ${spaceId} is the right one, run it again: it installs the other agents there.`,
    details: { space_id: spaceId, known_space_id: known.space_id },
  });
}

/** The error for a command that may not wait until it is certain what a POST did. */
export function outOfTimeError(externalId: string, lostPost: OutcomeUnknownError | undefined): PartnerctlError {
  if (lostPost) {
    const message = 'The service failed, and the space may or may not have been provisioned.';
    return unusableResponse(lostPost) ?? new ServiceError(message, { ...lostPost.info, hint: RERUN_HINT });
  }
  const id = JSON.stringify(externalId);
  return new OutcomeUnknownError(`An earlier run may have provisioned the space ${id}.`, {
    why: 'The time for the command does not allow waiting until nothing more can appear.',
    hint: 'Allow more time with --timeout, or less with --settle.',
  });
}

/** The error for a space that was provisioned without a record of it. */
export function unrecordedSpaceError(
  spaceId: string,
  unrecorded: Pick<Unrecorded, 'error' | 'recoveryPath' | 'isShared'>,
): PartnerctlError {
  return unrecordedError({
    created: `The space was provisioned as ${spaceId}`,
    ...unrecorded,
    hint: 'Run it again when the state can be written: a token that may list agents finds them, and then nothing is installed again.',
    details: { space_id: spaceId },
  });
}

/** The error for a space with agents that may be the missing ones: only a person can decide. */
export function ambiguousError(suspects: readonly PresentAgent[]): OutcomeUnknownError {
  return new OutcomeUnknownError('Some agents of the space may be the ones that an earlier request installed.', {
    why: suspects.map(nameAgent).join('\n'),
    hint: 'Compare the agents of the space with the manifest. Nothing more is installed, so that no agent is installed twice.\nIf one of them is the missing one, write its name and template_id in the manifest or, if another field of the list has its name, run: partnerctl contract set agent.name <path>\nIf none is, run it again with --retry-unknown.',
    details: { agents: suspects.map(({ agent_id, name }) => ({ agent_id, name })) },
  });
}

/** The error for a space that somebody else made, and whose agents cannot be listed. */
export function hiddenAgentsError(externalId: string, spaceId: string): OutcomeUnknownError {
  return new OutcomeUnknownError(`The space ${JSON.stringify(externalId)} exists, and may have the agents already.`, {
    why: `The service lists it as ${spaceId}, the agents cannot be listed, and the state has no record of them.`,
    hint: 'Nothing was sent, so that no agent is installed twice. Use a token that may list agents, or the state of the run that made the space. If the agents are missing, run it again with --retry-unknown.',
    details: { space_id: spaceId },
  });
}

const SPELLINGS =
  'The two external_space_ids differ only in case, white space, or Unicode form, which some services ignore.';

function nameSimilar({ external_space_id, space_id, source }: SimilarSpace): string {
  const names = [space_id, source].filter((name) => name !== undefined).join(', ');
  return `${JSON.stringify(external_space_id)} (${names})`;
}

/** The error for a space that two documents describe, and in which something is missing. */
export function sharedSpaceError(externalId: string, similar: SimilarSpace): OutcomeUnknownError {
  return new OutcomeUnknownError(`The space ${JSON.stringify(externalId)} is the same as ${nameSimilar(similar)}.`, {
    why: SPELLINGS,
    hint: 'Nothing more is sent, so that no agent is installed twice. Describe the space once, with the external_space_id that the service lists.',
    details: { similar: similar.external_space_id, space_id: similar.space_id },
  });
}

/**
 * The error for a missing space that may be another one for the service.
 * @param lostPost the failure of this run's own POST, if that is what may have been carried out
 */
export function similarSpaceError(
  externalId: string,
  similar: SimilarSpace,
  lostPost: OutcomeUnknownError | undefined,
): OutcomeUnknownError {
  return new OutcomeUnknownError(
    `The space ${JSON.stringify(externalId)} may be the same as ${nameSimilar(similar)}.`,
    {
      ...lostPost?.info,
      why: lostPost?.info.why === undefined ? SPELLINGS : `${lostPost.info.why}\n${SPELLINGS}`,
      hint: 'Nothing more is sent, so that no agent is installed twice. If they are one space, describe it once, with the external_space_id that the service lists. If they are two, provision this document alone with --retry-unknown.',
      details: { similar: similar.external_space_id, space_id: similar.space_id ?? null },
    },
  );
}

/**
 * The error for a space that may have been provisioned.
 * @param lostPost the failure of this run's own POST, if that is what may have been carried out
 * @param why what is known of the POST of an earlier run
 * @param advice how to find out
 */
function unsettledError(
  { reservation }: OpenSpace,
  lostPost: OutcomeUnknownError | undefined,
  { why, advice }: { readonly why: string; readonly advice: string },
): OutcomeUnknownError {
  const space = `the space ${JSON.stringify(reservation.snapshot.external_space_id)}`;
  return new OutcomeUnknownError(
    lostPost ? `The outcome of provisioning ${space} is unknown.` : `An earlier run may have provisioned ${space}.`,
    {
      ...lostPost?.info,
      why: lostPost?.info.why ?? `It reserved the space at ${reservation.at}, ${why}.`,
      hint: `Nothing more is sent, so that no agent is installed twice. ${advice}`,
      details: { key: reservation.key, reserved_at: reservation.at },
    },
  );
}

/** The error for a space that may have been provisioned, and whose agents cannot be listed. */
export function blockedSpaceError(open: OpenSpace, lostPost: OutcomeUnknownError | undefined): OutcomeUnknownError {
  return unsettledError(open, lostPost, {
    why: 'its outcome is unknown, and the agents cannot be listed',
    advice:
      'Check the agents of the space. If they are missing, run it again with --retry-unknown. With a token that may list spaces and agents, it finds out itself.',
  });
}

/**
 * The error for a space whose provisioning the service accepted, and that it does not list with the missing agents.
 * @param spaceId its id, if that is known
 */
export function unlistedSpaceError(
  open: OpenSpace,
  lostPost: OutcomeUnknownError | undefined,
  spaceId: string | undefined,
): OutcomeUnknownError {
  return unsettledError(open, lostPost, {
    why: 'the service accepted its request without the ids of the agents, and does not list them',
    advice:
      spaceId === undefined
        ? 'Look for the space with: partnerctl spaces list\nIf it has another external_space_id there, write that one in the manifest. If the agents are missing, run it again with --retry-unknown.'
        : adviseWaiting(spaceId),
  });
}

/** The error for agents that an earlier run installed without learning their ids, and that the service does not list. */
export function unnamedAgentsError(externalId: string, spaceId: string): OutcomeUnknownError {
  return new OutcomeUnknownError(`An earlier run installed agents of the space ${JSON.stringify(externalId)}.`, {
    why: 'The service accepted its request without the ids of the agents, and does not list them.',
    hint: `Nothing more is sent, so that no agent is installed twice. ${adviseWaiting(spaceId)}`,
    details: { space_id: spaceId },
  });
}

/** How to go on with agents that the service accepted and does not list. */
function adviseWaiting(spaceId: string): string {
  return `The list may be late. Look for the agents with: partnerctl agents list ${spaceId}\nOnce it shows them, run it again. If they are missing for good, run it again with --retry-unknown.`;
}

/** The error for a line of the state file that may be about a space, and cannot be used. */
export function unusableLineError(
  { line, why, kind }: BlockingLine,
  path: string,
  externalId: string,
): OutcomeUnknownError {
  const where = `${path}:${line}`;
  const space = `the space ${JSON.stringify(externalId)}`;
  if (kind === 'newer') {
    return new OutcomeUnknownError(`The state has a record of ${space} that this version cannot read.`, {
      why: `${where} is ${why}.`,
      hint: 'Nothing was sent. Use that version of partnerctl.',
    });
  }
  return new OutcomeUnknownError(`An earlier run may have provisioned ${space}.`, {
    why: `A damaged line of the state may be its record: ${where}, ${why}. The agents cannot be listed.`,
    hint: 'Nothing was sent. Restore the line from a copy of the file, use a token that may list spaces and agents, or check the agents yourself: if they are missing, run it again with --retry-unknown.',
    details: { line },
  });
}
