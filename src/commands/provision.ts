import { Option } from '@commander-js/extra-typings';
import { run } from '../cli/leaf.ts';
import { CONFIRM } from '../cli/options.ts';
import { manifestLeaf, PROVISION_SCOPES, printManifestSchema } from './provisioning/args.ts';

export const provision = () =>
  manifestLeaf('provision', 'Create or reuse spaces and install agents, from YAML', {
    description:
      'Creates or reuses spaces, installs agents, and creates their scheduled jobs, from YAML manifests. All input is checked before anything is sent. It reads what exists before it writes, so a repeated run installs nothing again and creates no job twice. After a lost response it reads again, and posts what is still missing.',
    scopes: PROVISION_SCOPES,
    examples: [
      'partnerctl provision acme.yaml  # one file',
      'partnerctl provision customers/ --check  # whether the files are valid',
      'partnerctl provision support.yaml --rows customers.csv --var-file prod.yaml  # a customer for each row, with the values of production',
      'partnerctl provision customers.yaml --var REGION=eu -o json  # with a variable, for a script',
    ],
  })
    .addOption(new Option('--check', 'check the manifests; send nothing').conflicts('schema'))
    .option('--fail-fast', 'do not start further documents after a failure')
    .option(...CONFIRM)
    .action(
      run(async (context, files, options) => {
        const { check, schema, confirm } = options;
        if (schema) return printManifestSchema();
        const { readManifests } = await import('../provision/read-manifests.ts');
        const { checkManifests } = await import('../provision/plan-manifests.ts');
        const { provisionFleet } = await import('../provision/workflows.ts');
        const { runResult } = await import('./provisioning/result.ts');
        if (!check) await context.confirmWrite(confirm);
        const documents = await readManifests(context, files, options);
        if (check) return runResult(await checkManifests(documents, context.clock), context);
        return runResult(await provisionFleet(context, documents, options), context);
      }),
    );
