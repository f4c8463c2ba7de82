import { Option } from '@commander-js/extra-typings';
import { deferred } from '../cli/command.ts';
import { CONFIRM } from '../cli/options.ts';
import {
  MAX_CREATES,
  MAX_FAILURES,
  manifestCommand,
  PROVISION_SCOPES,
  printManifestSchema,
  RUN_JSON,
  YES,
} from './provisioning/args.ts';

export const provision = () =>
  manifestCommand('provision', 'Create or reuse spaces and install agents, from YAML', {
    description:
      'Creates or reuses spaces, installs agents, and creates their scheduled jobs, from YAML manifests. All input is checked before anything is sent. It reads what exists before it writes, so a repeated run installs nothing again and creates no job twice. After a lost response it reads again, and posts what is still missing.',
    scopes: PROVISION_SCOPES,
    json: RUN_JSON,
    examples: [
      'partnerctl provision acme.yaml  # one file',
      'partnerctl provision customers/ --check  # whether the files are valid',
      'partnerctl provision support.yaml --rows customers.csv --var-file prod.yaml  # a customer for each row, with the values of production',
      "partnerctl provision customers/ --only 'acme-*' --max-failures 3  # some of them, until three have failed",
      'partnerctl provision customers.yaml --var REGION=eu -o json  # with a variable, for a script',
    ],
  })
    .addOption(new Option('--check', 'check the manifests; send nothing').conflicts('schema'))
    .option(...MAX_FAILURES)
    .addOption(new Option('--fail-fast', 'the same as --max-failures 1').implies({ maxFailures: 1 }))
    .option(...MAX_CREATES)
    .option(...YES)
    .option(...CONFIRM)
    .action(
      deferred(async (context, files, options) => {
        if (options.schema) return printManifestSchema();
        const { readManifests } = await import('../provision/read-manifests.ts');
        const { checkManifests } = await import('../provision/plan-manifests.ts');
        const { provisionFleet } = await import('../provision/workflows.ts');
        const { approver } = await import('./provisioning/approve.ts');
        const { runResult } = await import('./provisioning/result.ts');
        const documents = await readManifests(context, files, options);
        if (options.check) return runResult(await checkManifests(documents, options, context.clock), context);
        const how = { ...options, approve: approver(context, options) };
        return runResult(await provisionFleet(context, documents, how), context);
      }),
    );
