import { stat } from 'node:fs/promises';
import { deferred } from '../cli/command.ts';
import { OPERATIONS } from '../contract/operations.ts';
import { manifestCommand, printManifestSchema } from './provisioning/args.ts';

async function isDirectory(path: string): Promise<boolean> {
  return (await stat(path)).isDirectory();
}

export const plan = () =>
  manifestCommand('plan', 'Show what provision would do, and why', {
    description:
      'Shows what provision would do, and why: for each space, what it would create (+), and to which spaces it would add something (~), what differs and no call can change (!), what is not in the manifest (?), and what is blocked until somebody decides (x): then it exits as provision would. Spaces that have the same to do are one entry, and those that differ or are blocked come last; --wide shows each. Sends only reads. With --out, `partnerctl apply` carries out exactly what was planned.',
    exits: ['changesPending', 'differences'],
    scopes: [OPERATIONS.listSpaces.scope, OPERATIONS.listAgents.scope, OPERATIONS.listCronJobs.scope],
    json: '{spaces: [{source, external_space_id, space_id, action, actions: [{op, name, …}], differences, unmanaged, error?, errors?}], unmanaged_spaces?, summary: {create, change, none, blocked, differences, unmanaged}}',
    examples: [
      'partnerctl plan acme.yaml  # one file',
      'partnerctl plan customers/ --unmanaged --detailed-exitcode  # nightly: exit with 12 or 13 for any drift',
      'partnerctl plan support.yaml --rows customers.csv  # a customer for each row',
      "partnerctl plan customers/ --only 'acme-*' --wide  # some of them, each by itself",
      'partnerctl plan customers/ --out plan.json  # for review, and then: partnerctl apply plan.json',
    ],
  })
    .option(
      '--unmanaged',
      'list the spaces that no manifest describes; with --detailed-exitcode, exit 13 for them, and for agents and jobs',
    )
    .option('--detailed-exitcode', 'exit 12 if changes are pending, 13 if only differences are left')
    .option('--out <path>', 'write the plan to this file, for `partnerctl apply`')
    .action(
      deferred(async (context, files, options) => {
        if (options.schema) return printManifestSchema();
        const { readManifests } = await import('../provision/read-manifests.ts');
        const { planFleet } = await import('../provision/workflows.ts');
        const { planResult } = await import('./provisioning/result.ts');
        const documents = await readManifests(context, files, options);
        const areDirectories = await Promise.all(files.map((file) => file !== '-' && isDirectory(file)));
        // A directory is thought to describe all spaces.
        const isFleet = areDirectories.some(Boolean);
        return planResult(context, await planFleet(context, documents, options), { ...options, isFleet });
      }),
    );
