import * as v from 'valibot';
import type { Context } from '../../../cli/context.ts';
import { resolveBaseUrl, resolveService } from '../../../config/settings.ts';
import { UsageError } from '../../../errors.ts';
import { formatDuration } from '../../../platform/clock.ts';
import { errorMessage } from '../../../platform/error-code.ts';
import type { ManifestDocument } from '../../../provision/manifest.ts';
import { readManifests } from '../../../provision/read-manifests.ts';
import { emptyMirror, type Mirror, readMirror } from '../../../rehearsal/mirror.ts';
import type { RehearsalDeps } from '../../../rehearsal/rehearse.ts';
import { checkOption } from '../../../sandbox/input.ts';
import { settingsSchema } from '../../../sandbox/rows.ts';
import { makeLauncherDirectory } from './child.ts';
import { readFaults } from './start-sandbox.ts';

interface RehearsalOptions {
  readonly seeds: number;
  readonly var: readonly string[];
  readonly settings?: string | undefined;
  readonly faults?: string | undefined;
  readonly loseState?: boolean | undefined;
  readonly runTimeout?: number | undefined;
}

function parseSettings(text: string) {
  try {
    return checkOption('JSON', v.partial(settingsSchema), JSON.parse(text));
  } catch (error) {
    throw new UsageError('--settings does not have the settings of a sandbox.', {
      why: errorMessage(error),
      hint: 'For examples: partnerctl help sandbox',
    });
  }
}

async function mirrorService(context: Context, documents: readonly ManifestDocument[]): Promise<Mirror> {
  const { notice, progress } = context;
  if (resolveBaseUrl(context) === undefined || !resolveService(context).token) {
    await notice('note: no service is configured. The rehearsal begins with nothing.');
    return emptyMirror();
  }
  progress.start('Reading the spaces');
  const records = await (await context.log()).read();
  const { mirror, unreadable } = await readMirror(await context.http(), documents, records);
  if (unreadable.length > 0) {
    await notice(
      `note: the token cannot list ${unreadable.join(' and ')}. Of these, the rehearsal begins with what the state recorded.`,
    );
  }
  return mirror;
}

/**
 * Reads what a rehearsal begins with. Sends only reads.
 * @throws UsageError or InputError for an invalid option or file, before anything is sent; as `readMirror`
 */
export async function prepareRehearsal(
  context: Context,
  files: readonly string[],
  options: RehearsalOptions,
): Promise<RehearsalDeps> {
  const { abortSignal: signal, env, flags, runtime } = context;
  if (files.includes('-')) {
    throw new UsageError('A rehearsal cannot read standard input: it reads the manifests again for each seed.', {
      hint: 'Give a file.',
    });
  }
  const given = options.settings === undefined ? {} : parseSettings(options.settings);
  const documents = await readManifests(context, files, options);
  const faults = await readFaults(options.faults, signal);
  const mirror = await mirrorService(context, documents);
  const templates = [...mirror.agents, ...documents.flatMap(({ manifest }) => manifest.agents)].map(
    ({ template_id }) => template_id,
  );
  return {
    ...{ mirror, env, signal, seeds: options.seeds, program: runtime.selfCommand, openLog: context.log },
    settings: v.parse(settingsSchema, { templates: [...new Set(templates)], ...given }),
    directory: await makeLauncherDirectory(context),
    inputs: [...options.var.flatMap((text) => ['--var', text]), '--', ...files],
    runOptions: [
      ...(options.runTimeout === undefined ? [] : ['--timeout', formatDuration(options.runTimeout)]),
      ...(flags.retries === undefined ? [] : ['--retries', String(flags.retries)]),
    ],
    faults: faults?.rules ?? [],
    loseState: options.loseState ?? false,
  };
}
