import { leaf, run, SERVICE_EXITS } from '../cli/leaf.ts';
import { summaryFileOption, summaryOption } from '../cli/options.ts';
import { SCOPE } from '../contract/scopes.ts';
import { concurrencyOption, exitCodeOption, FILES_HELP, installRenamedOption, varOption } from './provisioning/args.ts';

export const plan = () =>
  leaf('plan', 'Show what provision would do, and why', {
    description:
      'Shows what provision would do, and why: for each space, in input order, what it would create (+), and to which spaces it would add something (~), what is unchanged (=), what differs and no call can change (!), what is not in the manifest (?), and what is blocked until somebody decides (x): then it exits as provision would. Sends only reads, and writes nothing. The same as provision --dry-run.',
    scopes: [SCOPE.readSpaces, SCOPE.readAgents, SCOPE.listJobs],
    exits: [...SERVICE_EXITS, 'duplicate', 'unknown', 'partial', 'changesPending', 'differences'],
    examples: [
      'partnerctl plan acme.yaml  # one file',
      'partnerctl plan customers/ --detailed-exitcode  # in CI: exit with 12 if provision has something to do',
      "partnerctl plan customers/ -o json --query 'spaces[?differences].differences[]'  # every difference that no call can change",
      'partnerctl plan customers/ -o tsv | grep create_job  # the jobs that would be created',
    ],
  })
    .argument('<file...>', FILES_HELP)
    .addOption(varOption())
    .addOption(concurrencyOption())
    .addOption(installRenamedOption())
    .addOption(summaryOption())
    .addOption(summaryFileOption())
    .addOption(exitCodeOption())
    .action(
      run(async (context, files, options) => {
        const { readManifests } = await import('./provisioning/open.ts');
        const { planDocuments } = await import('./provisioning/run.ts');
        const documents = await readManifests(context, files, options.var);
        return planDocuments(context, documents, options);
      }),
    );
